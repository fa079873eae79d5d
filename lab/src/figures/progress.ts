import { clearLine, cursorTo } from 'node:readline'
import type { Tell } from './figure.js'

/** Shows the present step: in one live line on a terminal, otherwise a line for each. */
export function progress(out: NodeJS.WriteStream): { tell: Tell; done: () => void } {
  const startMs = performance.now()
  const seconds = (): string => `${((performance.now() - startMs) / 1_000).toFixed(0).padStart(4)} s`
  const rewrite = (text: string): void => {
    cursorTo(out, 0)
    out.write(text.slice(0, out.columns - 1))
    clearLine(out, 1)
  }
  return {
    tell: (step) => (out.isTTY ? rewrite(`${seconds()}  ${step}`) : void out.write(`${seconds()}  ${step}\n`)),
    done: () => (out.isTTY ? rewrite('') : undefined),
  }
}
