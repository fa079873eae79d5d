import { clearLine, cursorTo } from 'node:readline'
import type { Manner } from './population.js'
import type { Tally } from './tally.js'

const LIVE_EVERY_MS = 200
const LOG_EVERY_MS = 5_000

/**
 * Shows the progress of a phase until the returned function is called: one live line on a terminal, otherwise (in a
 * build log) a line every five seconds.
 */
export function showProgress(title: string, tally: Tally, seconds: number, out: NodeJS.WriteStream): () => void {
  const startMs = performance.now()
  const elapsed = (): number => Math.min(seconds, Math.round((performance.now() - startMs) / 1_000))
  const line = (): string =>
    `${title} ${bar(elapsed() / seconds)} ${String(elapsed()).padStart(2)} of ${seconds} s   ` +
    `${fate(tally, 'quiet')}   ${fate(tally, 'heavy')}`
  const rewrite = (): void => {
    cursorTo(out, 0)
    out.write(line().slice(0, out.columns - 1))
    clearLine(out, 1)
  }
  const log = (): void => {
    if (elapsed() < seconds) out.write(`${line()}\n`)
  }
  const timer = out.isTTY ? setInterval(rewrite, LIVE_EVERY_MS) : setInterval(log, LOG_EVERY_MS)
  return () => {
    clearInterval(timer)
    if (out.isTTY) rewrite()
    out.write(out.isTTY ? '\n' : `${line()}\n`)
  }
}

function bar(part: number): string {
  const full = Math.round(part * 10)
  return '█'.repeat(full) + '░'.repeat(10 - full)
}

/** "18 quiet: 62 % served": the share of their requests so far. */
function fate(tally: Tally, manner: Manner): string {
  let clients = 0
  let asked = 0
  let served = 0
  for (const [i, client] of tally.clients.entries()) {
    if (client.manner !== manner) continue
    clients++
    asked += tally.byClient[i]!.asked
    served += tally.byClient[i]!.served
  }
  const percent = asked === 0 ? '–' : ((100 * served) / asked).toFixed(0)
  return `${clients} ${manner}: ${percent.padStart(3)} % served`
}
