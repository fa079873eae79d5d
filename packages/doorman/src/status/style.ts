import { Html } from './html.js'

/** Of the status page; by day and by night. */
export const STYLE: Html = new Html(`<style>
:root {
  color-scheme: light dark;
  --page: #f6f7f9; --card: #fff; --line: #e2e6ea; --text: #1b2430; --soft: #627080;
  --has: #2f6fde; --wants: #b9cdf3; --reserve: #d9a441; --good: #1d7f4c; --bad: #b3372f; --track: #eceff3;
}
@media (prefers-color-scheme: dark) {
  :root {
    --page: #11161c; --card: #1a2129; --line: #2b343f; --text: #e3e9ef; --soft: #93a1b0;
    --has: #5b93f5; --wants: #2c4368; --reserve: #c08f35; --good: #4fc58a; --bad: #ef7a72; --track: #252e38;
  }
}
* { box-sizing: border-box; }
body { margin: 0; background: var(--page); color: var(--text); font: 15px/1.5 system-ui, sans-serif; }
main { max-width: 1400px; margin: 0 auto; padding: 28px 20px 60px; }
header { display: flex; flex-wrap: wrap; align-items: baseline; gap: 4px 14px; margin-bottom: 22px; }
h1 { font-size: 24px; margin: 0; letter-spacing: -0.01em; }
h2 { font-size: 17px; margin: 30px 0 10px; }
a { color: var(--has); text-decoration: none; }
a:hover { text-decoration: underline; }
.soft { color: var(--soft); }
.badge { border-radius: 99px; padding: 2px 11px; font-size: 13px; font-weight: 600; color: #fff; background: var(--soft); }
.badge.master { background: var(--good); }
.badge.none { background: var(--bad); }
@media (prefers-color-scheme: dark) { .badge { color: #10151b; } }
.card { background: var(--card); border: 1px solid var(--line); border-radius: 10px; }
.facts { display: grid; grid-template-columns: repeat(auto-fit, minmax(300px, 1fr)); gap: 1px; overflow: hidden; }
.fact { padding: 12px 16px; }
.fact div:first-child { color: var(--soft); font-size: 12.5px; }
.fact div:last-child { overflow-wrap: anywhere; }
.warning { border-left: 4px solid var(--bad); padding: 10px 16px; margin: 14px 0; }
.scroll { overflow-x: auto; }
table { border-collapse: collapse; width: 100%; font-variant-numeric: tabular-nums; }
th, td { padding: 9px 14px; text-align: left; border-top: 1px solid var(--line); white-space: nowrap; }
thead th { border-top: 0; color: var(--soft); font-size: 12.5px; font-weight: 500; }
td.number, th.number { text-align: right; }
td.name { white-space: normal; overflow-wrap: anywhere; min-width: 160px; }
.curve { display: block; width: 140px; height: 30px; }
.curve polyline { fill: none; stroke-width: 1.5; }
.curve .capacity { stroke: var(--line); }
.curve .wants { stroke: var(--wants); }
.curve .waiting { stroke: var(--bad); }
.curve .has { stroke: var(--has); }
.bar { position: relative; width: 100%; min-width: 180px; height: 14px; border-radius: 4px; background: var(--track);
  overflow: hidden; }
.bar i { position: absolute; inset: 0 auto 0 0; }
.bar .wants { background: var(--wants); }
.bar .has { background: var(--has); }
.bar .reserve { background: var(--reserve); }
.bar .capacity { width: 2px; background: var(--text); }
.legend { display: flex; flex-wrap: wrap; gap: 4px 18px; margin: 8px 2px 0; font-size: 12.5px; color: var(--soft); }
.legend i { display: inline-block; width: 11px; height: 11px; border-radius: 3px; margin-right: 6px; }
.empty { padding: 22px 16px; color: var(--soft); }
.tag { font-size: 12px; border: 1px solid var(--line); border-radius: 5px; padding: 0 6px; color: var(--soft); }
</style>`)
