import { VIEWS_STYLE } from '@fairlead/console/views'

/** A piece of HTML. {@link html} escapes its parts, unless they are such pieces themselves. */
export class Html {
  readonly text: string

  constructor(text: string) {
    this.text = text
  }
}

type Part = Html | readonly Html[] | string | number | undefined

/** Builds HTML: `` html`<b>${name}</b>` ``. */
export function html(strings: TemplateStringsArray, ...parts: Part[]): Html {
  return new Html(String.raw({ raw: strings }, ...parts.map(textOf)))
}

function textOf(part: Part): string {
  if (part === undefined) return ''
  if (part instanceof Html) return part.text
  if (typeof part === 'object') return part.map(({ text }) => text).join('')
  return String(part).replace(/[&<>"']/g, (character) => `&#${character.charCodeAt(0)};`)
}

/** The style of the status page: that of the console's views, plus rules for this page. */
export const STYLE: Html = new Html(`<style>${VIEWS_STYLE}
body { margin: 0; }
main { max-width: 1400px; margin: 0 auto; padding: 20px 24px 64px; }
header { display: flex; flex-wrap: wrap; align-items: baseline; gap: 4px 14px; margin-bottom: 16px; }
h1 { font-size: 24px; margin: 0; letter-spacing: -0.01em; }
.fairlead h2 { font-size: 17px; margin: 26px 0 10px; }
a { color: var(--accent); text-decoration: none; }
a:hover, h2 a { text-decoration: underline; }
.badge { border-radius: 99px; padding: 2px 11px; font-size: 13px; font-weight: 600; color: var(--page); background: var(--soft); }
.badge.master { background: var(--good); }
.badge.none { background: var(--bad); }
.fairlead .facts { margin: 0; gap: 12px 34px; }
.fairlead .facts dd { font-size: 15px; overflow-wrap: anywhere; }
.fairlead .warning { border-left: 6px solid var(--bad); }
.fairlead .plain .words { text-align: left; white-space: normal; overflow-wrap: anywhere; min-width: 160px; }
.whole { white-space: nowrap; }
.bar { min-width: 180px; }
.tag { font-size: 12px; border: 1px solid var(--line); border-radius: 5px; padding: 0 6px; color: var(--soft); }
</style>`)
