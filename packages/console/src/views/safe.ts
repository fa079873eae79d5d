/** What every view keeps to, whatever it is given: installed once, for all elements that are drawn. */
import { options, type VNode } from 'preact'

/** Would be invisible, or change how its neighbours are read: controls, formats, line ends, halves of characters. */
const UNSEEN = /[\p{Cc}\p{Cf}\p{Zl}\p{Zp}\p{Cs}]/gu
const DRAWN = ['d', 'points', 'x', 'y', 'x1', 'x2', 'y1', 'y2', 'cx', 'cy', 'width', 'height'] as const

type Props = Record<string, unknown>

/** Has all texts escaped where they hold what is not seen, and shapes left out whose place is no number. */
export function drawSafely(): void {
  const before = options.vnode
  options.vnode = (vnode: VNode) => {
    if (typeof vnode.type === 'string') {
      const props = vnode.props as Props
      for (const name of DRAWN) if (/NaN|Infinity/.test(String(props[name]))) delete props[name]
      // What somebody types is theirs.
      for (const name in props) if (name !== 'value') props[name] = shown(props[name])
    }
    before?.(vnode)
  }
}

function shown(text: unknown): unknown {
  if (typeof text === 'string') return visible(text)
  if (typeof text === 'number') return Number.isFinite(text) ? text : '–'
  return Array.isArray(text) ? text.map(shown) : text
}

/**
 * A name or a word of anybody's as people see it: two that differ look different, and neither turns around what stands
 * beside it.
 */
function visible(text: string): string {
  return text.replace(UNSEEN, (character) => {
    const code = character.codePointAt(0)!.toString(16)
    return code.length > 4 ? `\\u{${code}}` : `\\u${code.padStart(4, '0')}`
  })
}
