/** Guarantees for every view and any input: installed once, for all rendered elements. */
import { options, type VNode } from 'preact'

/**
 * Characters that are invisible, or change how their neighbours are read: controls, formats, line ends, unpaired
 * surrogates.
 */
const UNSEEN = /[\p{Cc}\p{Cf}\p{Zl}\p{Zp}\p{Cs}]/gu
const DRAWN = ['d', 'points', 'x', 'y', 'x1', 'x2', 'y1', 'y2', 'cx', 'cy', 'width', 'height'] as const

type UnknownProps = Record<string, unknown>

/** Escapes invisible characters in all texts, and drops shapes whose coordinates are not finite numbers. */
export function drawSafely(): void {
  const before = options.vnode
  options.vnode = (vnode: VNode) => {
    if (typeof vnode.type === 'string') {
      const props = vnode.props as UnknownProps
      for (const name of DRAWN) if (/NaN|Infinity/.test(String(props[name]))) delete props[name]
      // The user's own input stays unchanged.
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

/** Makes a name or word visible: different texts look different, and none reverses the text beside it. */
function visible(text: string): string {
  return text.replace(UNSEEN, (character) => {
    const code = character.codePointAt(0)!.toString(16)
    return code.length > 4 ? `\\u{${code}}` : `\\u${code.padStart(4, '0')}`
  })
}
