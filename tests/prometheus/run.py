"""Queries of scripts/deploy in a real Prometheus that scrapes a real server.

    python3 -B tests/prometheus/run.py [path of the program]

Needs `prometheus` and `promtool`. The server has a journal, bots of its own, players, and a refused request, so that the metrics of
all parts have values. Each query of the dashboard and of the alerts must be valid; those of the dashboard must return a series if
`/metrics` has one for each of their metrics, and no alert may be raised, because the server is healthy.
"""

import json
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import time
import urllib.error
import urllib.parse
import urllib.request

ROOT = pathlib.Path(__file__).resolve().parents[2]
DEPLOY = ROOT / 'scripts' / 'deploy'
RULES = DEPLOY / 'prometheus' / 'alerts.yml'
PATIENCE_S = 90
# Alerts that a busy machine may raise.
BUSY = {'TickwireLateTicks', 'TickwireSkippedTicks', 'TickwireSlowUpdates', 'TickwireSlowJournal'}
# Two samples are needed for a rate, and some of the metrics change only after the players have joined.
SAMPLES = 4
passed, failed = 0, 0


def check(name, body):
    global passed, failed
    try:
        note = body()
        passed += 1
        print(f'ok {passed + failed} - {name}{f": {note}" if note else ""}')
    except Exception as error:
        failed += 1
        print(f'not ok {passed + failed} - {name}\n    {error}')


def run(*command):
    done = subprocess.run(command, capture_output=True, text=True, timeout=PATIENCE_S)
    if done.returncode != 0:
        raise AssertionError(f'{command[:3]}: {done.stdout}{done.stderr}')


def get(url):
    with urllib.request.urlopen(url, timeout=10) as response:
        return response.read().decode()


def until(what, body):
    deadline = time.monotonic() + PATIENCE_S
    while True:
        try:
            found = body()
            if found:
                return found
        except (OSError, ValueError):
            pass
        if time.monotonic() > deadline:
            raise AssertionError(f'{what}: not within {PATIENCE_S} s')
        time.sleep(0.1)


def address_of(log, pattern):
    """The address that a program has written into its log."""
    return until(f'{pattern} in {log}', lambda: re.search(pattern, log.read_text(errors='replace')))[1]


class Scene:
    """A server, its players, and a Prometheus, in a directory of their own."""

    def __init__(self, program, directory):
        self.directory, self.processes = directory, []
        self.server = self.start_server(program)
        self.players = self.start(
            'players.log', [program, 'bots', f'ws://{self.server}', '--count', '3', '--seconds', str(PATIENCE_S * 2)]
        )
        self.prometheus = self.start_prometheus()

    def start(self, name, command):
        log = self.directory / name
        with log.open('w') as output:
            self.processes.append(
                subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=output, stderr=subprocess.STDOUT)
            )
        return log

    def start_server(self, program):
        journal = self.directory / 'journal'
        arguments = ['serve', '--bind', '127.0.0.1:0', '--bots', '5', '--journal', str(journal)]
        log = self.start('server.log', [program, *arguments])
        return address_of(log, r'http://(127\.0\.0\.1:\d+)/')

    def start_prometheus(self):
        config = self.directory / 'prometheus.yml'
        config.write_text(
            'global: {scrape_interval: 1s, scrape_timeout: 1s, evaluation_interval: 1s}\n'
            f'rule_files: [{RULES}]\n'
            f'scrape_configs: [{{job_name: tickwire, static_configs: [{{targets: ["{self.server}"]}}]}}]\n'
        )
        log = self.start(
            'prometheus.log',
            [
                'prometheus',
                f'--config.file={config}',
                f'--storage.tsdb.path={self.directory / "data"}',
                '--web.listen-address=127.0.0.1:0',
                '--log.level=info',
            ],
        )
        return address_of(log, r'msg="Listening on" address=(127\.0\.0\.1:\d+)')

    def query(self, expression):
        target = f'http://{self.prometheus}/api/v1/query?' + urllib.parse.urlencode({'query': expression})
        try:
            answer = json.loads(get(target))
        except urllib.error.HTTPError as error:
            raise AssertionError(f'{expression}: {error.read().decode()}') from error
        if answer['status'] != 'success' or answer.get('warnings'):
            raise AssertionError(f'{expression}: {answer}')
        return answer['data']['result']

    def alerts(self):
        return json.loads(get(f'http://{self.prometheus}/api/v1/alerts'))['data']['alerts']

    def scrapes(self):
        """The state of the scrapes, for a report."""
        targets = json.loads(get(f'http://{self.prometheus}/api/v1/targets'))['data']['activeTargets']
        return [(target['health'], target['lastError'], target['lastScrapeDuration']) for target in targets]

    def end(self):
        for process in reversed(self.processes):
            process.terminate()
        for process in self.processes:
            try:
                process.wait(10)
            except subprocess.TimeoutExpired:
                process.kill()


def dashboard_queries():
    """Title and expression of each query, with the variables of Grafana replaced."""
    dashboard = json.loads((DEPLOY / 'grafana' / 'tickwire.json').read_text())
    for panel in dashboard['panels']:
        for target in panel.get('targets', []):
            expression = target['expr'].replace('$__rate_interval', '1m').replace('$instance', '.*')
            if '$' in expression:
                raise AssertionError(f'{panel["title"]}: an unknown variable in {expression}')
            yield f'{panel["title"]} ({target["refId"]})', expression


def check_rules():
    run('promtool', 'check', 'rules', str(RULES))
    run('promtool', 'test', 'rules', str(RULES.with_name('alerts.test.yml')))
    run('promtool', 'check', 'config', '--syntax-only', str(RULES.with_name('prometheus.yml')))


def wait_for_samples(scene):
    """Waits until there are samples of playing clients, and a refused request is counted."""
    try:
        get(f'http://{scene.server}/play?dialect=none')
    except urllib.error.HTTPError:
        pass
    request = urllib.request.Request(f'http://{scene.server}/wire', headers={'Origin': 'http://other.example'})
    try:
        urllib.request.urlopen(request, timeout=10)
    except urllib.error.HTTPError:
        pass
    until('clients play', lambda: scene.query('tickwire_clients >= 3'))
    until('samples', lambda: scene.query(f'count_over_time(tickwire_clients[1m] @ end()) >= {SAMPLES}'))
    until('updates in a rate', lambda: scene.query('rate(tickwire_send_duration_seconds_count[1m]) > 0'))
    until('syncs in a rate', lambda: scene.query('rate(tickwire_journal_sync_duration_seconds_count[1m]) > 0'))
    until('a refused request', lambda: scene.query('tickwire_requests_refused_total > 0'))


def check_query(scene, metrics, expression):
    result = scene.query(expression)
    names = set(re.findall(r'tickwire_\w+', expression))
    missing = [name for name in names if not re.search(rf'^{name}[{{ ]', metrics, re.M)]
    if missing:
        return f'empty, without a series of {", ".join(sorted(missing))}'
    if not any(sample['value'][1] != 'NaN' for sample in result):
        raise AssertionError(f'{expression} returns no number: {result}')
    return None


def check_silence(scene):
    until('rules are evaluated', lambda: scene.query('count_over_time(up[1m]) >= 2'))
    raised = {alert['labels']['alertname'] for alert in scene.alerts()} - BUSY
    if raised:
        raise AssertionError(f'a healthy server raises {sorted(raised)}')


def main():
    program = sys.argv[1] if len(sys.argv) > 1 else str(ROOT / 'target' / 'debug' / 'tickwire')
    for tool in ['prometheus', 'promtool', program]:
        if not shutil.which(tool):
            sys.exit(f'{tool} is missing')
    check('promtool accepts the rules, and each alert has an example that raises it', check_rules)
    with tempfile.TemporaryDirectory() as directory:
        scene = None
        try:
            scene = Scene(program, pathlib.Path(directory))
            wait_for_samples(scene)
            metrics = get(f'http://{scene.server}/metrics')
            for title, expression in dashboard_queries():
                check(title, lambda expression=expression: check_query(scene, metrics, expression))
            rules = json.loads(get(f'http://{scene.prometheus}/api/v1/rules'))['data']['groups']
            for rule in (rule for group in rules for rule in group['rules']):
                check(f'alert {rule["name"]} is valid', lambda query=rule['query']: scene.query(query) and None)
            check('no alert is raised', lambda: check_silence(scene))
        except AssertionError as error:
            check('the scene', lambda error=error: (_ for _ in ()).throw(error))
            print(f'scrapes: {scene.scrapes() if scene else "none"}')
            for log in sorted(pathlib.Path(directory).glob('*.log')):
                print(f'--- {log.name}\n{log.read_text(errors="replace")[-2000:]}')
        finally:
            if scene:
                scene.end()
    print(f'{passed} passed, {failed} failed')
    sys.exit(failed > 0)


main()
