// A capture of very many connections: the inspector opens it in slices.

import assert from 'node:assert/strict';

/** A pcap file of so many connections, of which each has one SYN. @param {number} count */
function connectionsOfOneSegment(count) {
  const [header, packet] = [24, 16 + 40];
  const file = Buffer.alloc(header + count * packet);
  file.writeUInt32LE(0xa1b2c3d4, 0);
  file.writeUInt16LE(2, 4);
  file.writeUInt32LE(262_144, 16);
  file.writeUInt32LE(101, 20);
  for (let index = 0; index < count; index++) {
    const at = header + index * packet;
    file.writeUInt32LE(40, at + 8);
    file.writeUInt32LE(40, at + 12);
    // IPv4 with a TCP header: 11.0.x.x, port by port, to 10.0.0.1:3000.
    file.set([0x45, 0, 0, 40, 0, 0, 0, 0, 64, 6], at + 16);
    file.writeUInt32BE(0x0b000000 + (index >> 14), at + 28);
    file.writeUInt32BE(0x0a000001, at + 32);
    file.writeUInt16BE(1024 + (index & 16_383), at + 36);
    file.writeUInt16BE(3000, at + 38);
    file.set([0x50, 0x02, 0xff, 0xff], at + 48);
  }
  return file;
}

/** @param {import('../lib/game.mjs').Game} game @param {import('playwright-core').Page} page an inspector that watches a client */
export async function largeCapture(game, page) {
  await game.check('a large capture opens in slices: its progress is shown, it can be cancelled, and the page goes on in between', async () => {
    const large = { name: 'syns.pcap', mimeType: 'application/vnd.tcpdump.pcap', buffer: connectionsOfOneSegment(300_000) };
    await page.evaluate(() => {
      window.longest = 0;
      new PerformanceObserver((list) => { for (const { duration } of list.getEntries()) window.longest = Math.max(window.longest, duration); }).observe({ type: 'longtask' });
    });
    // The page itself cancels: on a fast machine, the file is open before a click from outside arrives.
    const progress = page.evaluate(() => new Promise((done) => {
      const opening = document.querySelector('#file-opening');
      const observer = new MutationObserver(() => {
        const text = opening.textContent;
        if (opening.hidden || !/\d+ %/.test(text)) return;
        observer.disconnect();
        document.querySelector('#file-opening-cancel').click();
        done(text);
      });
      observer.observe(opening, { attributes: true, characterData: true, childList: true, subtree: true });
    }));
    await page.setInputFiles('#file', large);
    assert.match(await progress, /^\s*Opening syns\.pcap: \d+ %/);
    await page.locator('#file-opening').waitFor({ state: 'hidden' });
    assert.equal(await page.evaluate(() => document.querySelector('#inside').dataset.source), 'live');
    await page.setInputFiles('#file', large);
    await page.locator('#note', { hasText: '300000 connections without data' }).waitFor({ timeout: 60000 });
    await page.locator('#file-opening').waitFor({ state: 'hidden' });
    const longest = await page.evaluate(() => window.longest);
    await page.locator('#live').click();
    return `the longest task took ${Math.round(longest)} ms`;
  });
}
