import type { ComponentChildren, JSX } from 'preact'
import { useState } from 'preact/hooks'
import type { Frame, OverrideFrame } from '../frame.js'
import { Bar, Lines } from './charts.js'
import { byHarm, duration, type FlowShare, lost, number, percent, rate, type Shares, suffers } from './view.js'

type Sort = 'harm' | 'flow' | 'asked' | 'entitled' | 'served' | 'lost' | 'credit' | 'wait'

const ORDERS: Readonly<Record<Sort, (a: FlowShare, b: FlowShare) => number>> = {
  harm: byHarm,
  flow: (a, b) => (a.flow < b.flow ? -1 : 1),
  asked: (a, b) => b.asked - a.asked,
  entitled: (a, b) => b.entitled - a.entitled,
  served: (a, b) => b.served - a.served,
  lost: (a, b) => lost(b) - lost(a),
  credit: (a, b) => (a.credit ?? 0) - (b.credit ?? 0),
  wait: (a, b) => b.wait.p99 - a.wait.p99,
}
const ROWS = 12
/** Number of columns that the style shows at this width: a row that spans more would squeeze the others. */
const columns = (): number => (innerWidth <= 640 ? 3 : innerWidth <= 1000 ? 6 : 9)

/** The content below a flow's opened row. */
export type DetailOf = (row: FlowShare, override: OverrideFrame | undefined) => ComponentChildren

export function Flows({
  frames,
  shares,
  colourOf,
  detailOf,
}: {
  frames: readonly Frame[]
  shares: Shares
  colourOf: (flow: string) => string
  detailOf?: DetailOf | undefined
}): JSX.Element {
  const [sort, setSort] = useState<Sort>('harm')
  const [open, setOpen] = useState<string | undefined>()
  const [all, setAll] = useState(false)
  const sorted = [...shares.flows].sort(ORDERS[sort])
  const rows = all ? sorted : sorted.slice(0, ROWS)
  const most = Math.max(1e-9, ...rows.map(({ asked }) => asked))
  const overrides = frames.at(-1)?.overrides ?? []
  const header = (key: Sort, text: string, hint: string, kind = ''): JSX.Element => (
    <th
      class={kind}
      scope="col"
      {...(sort === key && { 'aria-sort': key === 'flow' || key === 'credit' ? 'ascending' : 'descending' })}
    >
      <button type="button" title={hint} onClick={() => setSort(key)}>
        {text}
        {sort === key ? (key === 'flow' || key === 'credit' ? ' ↑' : ' ↓') : ''}
      </button>
    </th>
  )
  return (
    <section aria-labelledby="flows">
      <div class="head">
        <h2 id="flows">Flows</h2>
        <p>the last 10 s; the mark is the fair share</p>
        <button type="button" class="push" aria-pressed={sort === 'harm'} onClick={() => setSort('harm')}>
          Most harm first
        </button>
      </div>
      {rows.length === 0 && <p class="empty">No requests.</p>}
      {rows.length > 0 && (
        <table class="flows">
          <colgroup>
            <col class="first" />
            <col />
            <col class="middle" style={{ width: '84px' }} />
            <col class="middle" style={{ width: '84px' }} />
            <col class="middle" style={{ width: '84px' }} />
            <col style={{ width: '84px' }} />
            <col class="wide" style={{ width: '76px' }} />
            <col class="wide" style={{ width: '128px' }} />
            <col class="wide" style={{ width: '112px' }} />
          </colgroup>
          <thead>
            <tr>
              {header('flow', 'flow', 'by name')}
              <th class="bars" scope="col">
                asked, and served of it
              </th>
              {header('asked', 'asked', 'cost asked for, per second', 'middle')}
              {header('entitled', 'fair share', 'what it may have by weight while it is short', 'middle')}
              {header('served', 'served', 'cost served, per second', 'middle')}
              {header('lost', 'lost', 'refused or failed, of what it asked')}
              {header('credit', 'credit', 'requests that it lags behind the clock of FAIR', 'wide')}
              {header('wait', 'wait p50/p99', 'until admitted', 'wide')}
              <th class="wide" scope="col">
                last minute
              </th>
            </tr>
          </thead>
          <tbody>
            {rows.map((row) => (
              <Row
                key={row.flow}
                row={row}
                most={most}
                colour={colourOf(row.flow)}
                frames={frames}
                detailOf={detailOf}
                override={overrides.find(({ flow }) => flow === row.flow)}
                isOpen={open === row.flow}
                toggle={() => setOpen(open === row.flow ? undefined : row.flow)}
              />
            ))}
          </tbody>
        </table>
      )}
      <div class="acts">
        {sorted.length > ROWS && (
          <button type="button" onClick={() => setAll(!all)}>
            {all ? 'Fewer' : `All ${sorted.length} that ask for most`}
          </button>
        )}
        {shares.others.flows > 0 && (
          <span class="soft small">
            {number(shares.others.flows)} more ask {rate(shares.others.asked)} in all;{' '}
            {percent(shares.others.asked > 0 ? shares.others.refused / shares.others.asked : 0)} of it is refused.
          </span>
        )}
      </div>
    </section>
  )
}

function Row(props: {
  row: FlowShare
  most: number
  colour: string
  frames: readonly Frame[]
  detailOf: DetailOf | undefined
  override: OverrideFrame | undefined
  isOpen: boolean
  toggle: () => void
}): JSX.Element {
  const { row, most, colour, frames, detailOf, override, isOpen, toggle } = props
  const lacks = suffers(row)
  const minute = frames
    .slice(-60)
    .map(({ flows, seconds }) => (flows.find(({ flow }) => flow === row.flow)?.asked ?? 0) / seconds)
  return (
    <>
      <tr data-flow={row.flow}>
        <td>
          <Name isOpen={isOpen} toggle={detailOf && toggle}>
            <span class="swatch" style={{ background: colour }} />
            <span class="label" title={row.flow}>
              {row.flow}
            </span>
            {row.excess > 0 && <span class="tag heavy">above its share</span>}
            {lacks && <span class="tag lacks">suffers</span>}
            {row.failsAlone && <span class="tag lacks">fails by itself</span>}
            {override && <span class="tag set">{override.kind}</span>}
          </Name>
        </td>
        <td class="bars">
          <Bar
            parts={[
              { value: row.asked, colour, faint: true },
              { value: Math.min(row.served, row.asked), colour },
            ]}
            most={most}
            {...(row.entitled < row.asked && { mark: row.entitled })}
          />
        </td>
        <td class="middle" data-value={row.asked}>
          {rate(row.asked)}
        </td>
        <td class="middle" data-value={row.entitled}>
          {rate(row.entitled)}
        </td>
        <td class="middle" data-value={row.served}>
          {rate(row.served)}
        </td>
        <td class={lacks ? 'bad' : ''} data-value={lost(row)}>
          {percent(lost(row))}
        </td>
        <td class="wide">
          {row.credit === null
            ? '–'
            : row.credit > 99
              ? '>99'
              : row.credit < -99
                ? '<−99'
                : number(row.credit).replace('-', '−')}
        </td>
        <td class="wide">{row.wait.count === 0 ? '–' : `${duration(row.wait.p50)} / ${duration(row.wait.p99)}`}</td>
        <td class="wide">
          <div class="spark">
            <Lines lines={[{ values: minute, colour }]} />
          </div>
        </td>
      </tr>
      {isOpen && (
        <tr class="more">
          <td colSpan={columns()}>{detailOf?.(row, override)}</td>
        </tr>
      )}
    </>
  )
}

/** A flow's name, which opens its details. */
function Name(props: { isOpen: boolean; toggle: (() => void) | undefined; children: ComponentChildren }): JSX.Element {
  const { isOpen, toggle, children } = props
  if (toggle === undefined) return <div class="name">{children}</div>
  return (
    <button type="button" class="name" aria-expanded={isOpen} onClick={toggle}>
      {children}
    </button>
  )
}
