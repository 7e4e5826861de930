"""Draws the results of `scripts/bench.sh --csv` as an SVG: the CPU time of each program as a ratio to the floor, by case.

    plot.py RESULTS.csv PLOT.svg [CASE=GOAL ...]

A bar is the mean ratio, its whisker the 95 % interval, and a line the goal of the case.
"""

import csv
import html
import re
import sys

NAMES = {"server": "tickwire", "again": "the floor again (A/A)", "before": "before"}
LEFT, WIDTH, ROW = 210, 900, 22


def main():
    results, plot, *goals = sys.argv[1:]
    goals = {case: float(goal) for case, goal in (goal.split("=") for goal in goals)}
    with open(results, encoding="utf-8") as file:
        rows = [row for row in csv.DictReader(file) if row["program"] != "floor"]
    if not rows:
        sys.exit(f"plot.py: {results}: no rows")
    bars = []
    for row in rows:
        numbers = [float(number) for number in re.findall(r"[\d.]+", row["cpu_to_floor"])]
        bars.append((row["case"], row["program"], numbers))
    most = max(max(numbers) for *_, numbers in bars) * 1.08
    scale = (WIDTH - LEFT - 60) / most
    lines, top, before = [], 24, None
    for case, program, numbers in bars:
        if case != before:
            top += 14
            lines.append(f'<text x="8" y="{top + 15}" font-weight="bold">{html.escape(case)}</text>')
            goal = goals.get(case)
            if goal:
                at = LEFT + goal * scale
                count = sum(1 for other, *_ in bars if other == case)
                lines.append(f'<line x1="{at:.1f}" x2="{at:.1f}" y1="{top}" y2="{top + count * ROW}" stroke="#c00" stroke-dasharray="4 3"/>')
                lines.append(f'<text x="{at + 4:.1f}" y="{top - 1}" fill="#c00" font-size="10">goal {goal:g}</text>')
            before = case
        name = html.escape(NAMES.get(program, program))
        color = "#6aa84f" if program == "server" else "#b8b8b8"
        lines.append(f'<text x="{LEFT - 6}" y="{top + 15}" text-anchor="end">{name}</text>')
        lines.append(f'<rect x="{LEFT}" y="{top + 3}" width="{numbers[0] * scale:.1f}" height="{ROW - 6}" fill="{color}"/>')
        end = numbers[0]
        if len(numbers) == 3:
            low, high = (LEFT + number * scale for number in numbers[1:])
            lines.append(f'<line x1="{low:.1f}" x2="{high:.1f}" y1="{top + 11}" y2="{top + 11}" stroke="#333" stroke-width="2"/>')
            end = max(numbers)
        lines.append(f'<text x="{LEFT + end * scale + 6:.1f}" y="{top + 15}">{numbers[0]:.2f}</text>')
        top += ROW
    one = LEFT + scale
    lines.append(f'<line x1="{one:.1f}" x2="{one:.1f}" y1="24" y2="{top}" stroke="#333"/>')
    lines.append(f'<text x="{one:.1f}" y="16" text-anchor="middle">the floor = 1</text>')
    with open(plot, "w", encoding="utf-8") as file:
        file.write(
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {top + 12}" font-family="sans-serif" font-size="13">\n'
            f'<title>CPU time per client and update, as a ratio to the floor</title>\n<rect width="{WIDTH}" height="{top + 12}" fill="#fff"/>\n'
        )
        file.write("\n".join(lines) + "\n</svg>\n")


if __name__ == "__main__":
    main()
