import type { ComponentChildren, JSX } from 'preact'
import { useMemo } from 'preact/hooks'
import type { Frame } from '../frame.js'
import { River } from './charts.js'
import { count, rate, riverOf } from './view.js'

/** Service and refusals, by flow, with the colours of the flows. */
export function RiverPanel({
  frames,
  span,
  coloured,
  width,
  children,
}: {
  frames: readonly Frame[]
  span: number
  coloured: ReadonlyMap<string, number>
  width?: number | undefined
  /** Content at the right of the heading. */
  children?: ComponentChildren
}): JSX.Element {
  const named = [...coloured].sort((a, b) => a[1] - b[1])
  const flows = named.map(([flow]) => flow)
  const visible = useMemo(() => {
    const end = frames.at(-1)?.atMs ?? 0
    return frames.filter(({ atMs }) => atMs >= end - span - 3_000)
  }, [frames, span])
  const points = useMemo(() => riverOf(visible, flows), [visible, flows.join('\n')])
  const last = points.at(-1)
  const served = last?.served.reduce((sum, each) => sum + each, 0) ?? 0
  const label = `What was served, by flow: ${rate(served)} now, ${flows.map((flow, i) => `${flow} ${rate(last?.served[i + 1] ?? 0)}`).join(', ')}`
  return (
    <section aria-labelledby="river">
      <div class="head">
        <h2 id="river">Served and refused</h2>
        <p>cost per second; refused is hatched, above what is served</p>
        <span class="push">{children}</span>
      </div>
      <River
        points={points}
        flows={flows}
        colours={named.map(([, colour]) => colour)}
        span={span}
        height={globalThis.innerWidth < 640 ? 220 : 300}
        width={width}
        label={label}
      />
      <ul class="legend">
        {named.map(([flow, colour]) => (
          <li key={flow}>
            <span class="swatch" style={{ background: `var(--c${colour})` }} />
            {flow}
          </li>
        ))}
        <li>
          <span class="swatch" />
          everyone else{frames.at(-1) ? `, ${count(Math.max(0, frames.at(-1)!.flowCount - flows.length), 'flow')}` : ''}
        </li>
        <li>
          <span class="swatch refused" />
          refused
        </li>
      </ul>
    </section>
  )
}
