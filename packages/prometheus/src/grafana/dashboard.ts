import { INSTRUMENTS, type InstrumentKey } from '@fairlead/core/telemetry'
import * as common from '@grafana/grafana-foundation-sdk/common'
import {
  GraphGradientMode,
  LegendDisplayMode,
  LegendPlacement,
  StackingMode,
} from '@grafana/grafana-foundation-sdk/common'
import * as dashboard from '@grafana/grafana-foundation-sdk/dashboard'
import { DataqueryBuilder } from '@grafana/grafana-foundation-sdk/prometheus'
import * as stat from '@grafana/grafana-foundation-sdk/stat'
import * as timeseries from '@grafana/grafana-foundation-sdk/timeseries'
import { prometheusName } from '../names.js'

const DATASOURCE: common.DataSourceRef = { type: 'prometheus', uid: '$datasource' }

/** The series of an instrument, of the gates that were chosen. */
function of(key: InstrumentKey, labels = ''): string {
  return `${prometheusName(key)}{job=~"$job", fairlead_gate=~"$gate"${labels}}`
}

/** How fast a count grows. `$__rate_interval` is Grafana's. */
function rate(key: InstrumentKey, labels = ''): string {
  return `rate(${of(key, labels)}[$__rate_interval])`
}

function sumRate(key: InstrumentKey, labels = ''): string {
  return `sum(${rate(key, labels)})`
}

/** A quantile of a histogram. */
function quantile(q: number, key: InstrumentKey): string {
  const buckets = `${prometheusName(key)}_bucket{job=~"$job", fairlead_gate=~"$gate"}`
  return `histogram_quantile(${q}, sum by (le) (rate(${buckets}[$__rate_interval])))`
}

const SERVED = ', fairlead_outcome="success"'
/** By how much more is asked than served; nothing where nothing was served. */
const DEMAND = `${sumRate('cost')} / (${sumRate('cost', SERVED)} > 0)`

/** A query, and what its series are called. */
type Query = readonly [expr: string, legend: string]

interface Panel {
  readonly title: string
  /** The operator's question that it answers. */
  readonly about: string
  readonly unit: string
  readonly queries: readonly Query[]
}

interface Stat extends Panel {
  /** From which value on it is a warning, and from which an alarm; falling, if the latter is the less. */
  readonly warn: number
  readonly alarm: number
}

interface Graph extends Panel {
  /** One upon the other. */
  readonly stacked?: true
  readonly max?: number
}

const STATS: readonly Stat[] = [
  {
    title: 'Short now',
    about: 'Resources that are short, so that flows are held to their shares. 0: all is well.',
    unit: 'none',
    queries: [[`max(${of('engaged')})`, '']],
    warn: 1,
    alarm: 1,
  },
  {
    title: 'Asked for each that is served',
    about: 'Above 1 there is demand that is not served: a retry counts as demand, too.',
    unit: 'none',
    queries: [[DEMAND, '']],
    warn: 1.1,
    alarm: 2,
  },
  {
    title: 'Quiet flows get',
    about: 'Of what they ask for, flows that ask for no more than their fair share. Below 80 %: innocents suffer.',
    unit: 'percentunit',
    queries: [[`min(${of('quietShare')})`, '']],
    warn: 0.95,
    alarm: 0.8,
  },
  {
    title: 'Worst-off flow gets',
    about: 'Of its fair share, among heavy flows and a sample.',
    unit: 'percentunit',
    queries: [[`min(${of('worstShare')})`, '']],
    warn: 0.9,
    alarm: 0.5,
  },
  {
    title: 'The loudest flow asks',
    about: 'Its part of all that is asked for. Who it is: talkers in the snapshot, the console, or the log.',
    unit: 'percentunit',
    queries: [[`max(${of('topShare', ', fairlead_rank="1"')})`, '']],
    warn: 0.25,
    alarm: 0.5,
  },
  {
    title: 'Waiting now',
    about: 'Requests that wait for a stage, in all processes.',
    unit: 'none',
    queries: [[`sum(${of('queued')})`, '']],
    warn: 100,
    alarm: 1_000,
  },
]

const GRAPHS: readonly Graph[] = [
  {
    title: 'What was asked, and what became of it',
    about: 'Are we short, and since when? Cost per second by outcome, and the capacity as FAIR has measured it.',
    unit: 'cps',
    queries: [
      [`sum by (fairlead_outcome) (${rate('cost')})`, '{{fairlead_outcome}}'],
      [`sum(${of('fairCapacity')})`, 'capacity, measured'],
    ],
    stacked: true,
  },
  {
    title: 'Refusals by stage and reason',
    about: 'Why are requests refused? fair:unfair is as it should be; shed:overload says that FAIR does not know who.',
    unit: 'reqps',
    queries: [
      [
        `sum by (fairlead_stage, fairlead_reason) (${rate('requests', ', fairlead_outcome="refused"')})`,
        '{{fairlead_stage}}: {{fairlead_reason}}',
      ],
    ],
    stacked: true,
  },
  {
    title: 'Fairness',
    about: 'Who suffers although innocent? Served of what was due; the worst, the quiet, and how alike all are.',
    unit: 'percentunit',
    queries: [
      [`min(${of('worstShare')})`, 'worst-off flow'],
      [`min(${of('quietShare')})`, 'quiet flows'],
      [`min(${of('jain')})`, "Jain's index"],
    ],
    max: 1,
  },
  {
    title: 'Who causes it',
    about: 'Parts of all that is asked for, of the flows that ask for most; by rank, never by name.',
    unit: 'percentunit',
    queries: [[`max by (fairlead_rank) (${of('topShare')})`, 'rank {{fairlead_rank}}']],
    max: 1,
  },
  {
    title: 'Flows',
    about: 'Flows that asked lately, per process: an estimate above 64. A jump without more requests: invented names.',
    unit: 'none',
    queries: [[`max(${of('flows')})`, 'flows']],
  },
  {
    title: 'Time in queue',
    about: 'How long do those wait that are admitted?',
    unit: 's',
    queries: [
      [quantile(0.5, 'wait'), 'p50'],
      [quantile(0.99, 'wait'), 'p99'],
    ],
  },
  {
    title: 'Duration',
    about: 'From admission to the end.',
    unit: 's',
    queries: [
      [quantile(0.5, 'duration'), 'p50'],
      [quantile(0.99, 'duration'), 'p99'],
    ],
  },
  {
    title: 'Capacity',
    about: 'Is the capacity what I think? What may run at once, what runs, and what waits for it, in all processes.',
    unit: 'none',
    queries: [
      [`sum by (fairlead_source) (${of('limit')})`, 'limit, {{fairlead_source}}'],
      [`sum(${of('used')})`, 'used'],
      [`sum(${of('active')})`, 'admitted and not finished'],
      [`sum(${of('queued')})`, 'waiting'],
    ],
  },
  {
    title: 'What FAIR has measured',
    about: 'Cost per second that the resource can serve, and what of it one flow of weight 1 may have.',
    unit: 'cps',
    queries: [
      [`sum by (fairlead_resource) (${of('fairCapacity')})`, 'capacity {{fairlead_resource}}'],
      [`sum by (fairlead_resource) (${of('fairRate')})`, 'fair rate {{fairlead_resource}}'],
    ],
  },
  {
    title: 'Failures',
    about: 'Background failures stay however little is let in: something else than load is broken.',
    unit: 'percentunit',
    queries: [
      [`max by (fairlead_resource) (${of('failureRatio')})`, 'failures {{fairlead_resource}}'],
      [`max by (fairlead_resource) (${of('backgroundFailureRatio')})`, 'background {{fairlead_resource}}'],
    ],
  },
  {
    title: 'Shedding',
    about: 'Load by signal, 100 % being where all is shed, and the chance that an ordinary request is.',
    unit: 'percentunit',
    queries: [
      [`max by (fairlead_signal) (${of('shedLoad')})`, 'load, {{fairlead_signal}}'],
      [`max by (fairlead_signal) (${of('shedProbability')})`, 'shed, {{fairlead_signal}}'],
    ],
  },
  {
    title: 'Budget',
    about: 'Used in this window, in all processes, and the limit that they share.',
    unit: 'none',
    queries: [
      [`sum(${of('budgetUsed')})`, 'used'],
      [`max(${of('budgetLimit')})`, 'limit'],
      [`max(${of('budgetTenants')})`, 'active tenants'],
    ],
  },
  {
    title: 'Leases',
    about: 'Held of Doorman, and asked for, in all processes; and the time until the first of them ends.',
    unit: 'none',
    queries: [
      [`sum by (fairlead_resource) (${of('leaseCapacity')})`, 'held, {{fairlead_resource}}'],
      [`sum by (fairlead_resource) (${of('leaseWants')})`, 'wanted, {{fairlead_resource}}'],
      [`min by (fairlead_resource) (${of('leaseEndsIn')})`, 'seconds left, {{fairlead_resource}}'],
    ],
  },
  {
    title: 'Errors',
    about: 'What threw or did not answer, and permits that nobody finished in time. Any is too many.',
    unit: 'none',
    queries: [
      [`sum by (fairlead_source) (increase(${of('errors')}[$__rate_interval]))`, '{{fairlead_source}}'],
      [`sum(increase(${of('expired')}[$__rate_interval]))`, 'expired permits'],
    ],
  },
]

/** The dashboard that this package ships as `grafana/fairlead.json`. */
export function fairleadDashboard(): dashboard.Dashboard {
  const builder = new dashboard.DashboardBuilder('Fairlead')
    .uid('fairlead')
    .description('Fair admission control: is something short, who causes it, who suffers, and what is the capacity')
    .tags(['fairlead'])
    .refresh('30s')
    .time({ from: 'now-1h', to: 'now' })
    .timezone('browser')
    .tooltip(dashboard.DashboardCursorSync.Crosshair)
    .withVariable(new dashboard.DatasourceVariableBuilder('datasource').label('Data source').type('prometheus'))
    .withVariable(labelVariable('job', 'Job', `label_values(${prometheusName('requests')}, job)`))
    .withVariable(
      labelVariable('gate', 'Gate', `label_values(${prometheusName('requests')}{job=~"$job"}, fairlead_gate)`),
    )
  const panels = [...STATS.map(statPanel), ...GRAPHS.map(graphPanel)]
  for (const [i, panel] of panels.entries()) builder.withPanel(panel.id(i + 1))
  return builder.build()
}

function labelVariable(name: string, label: string, query: string): dashboard.QueryVariableBuilder {
  return new dashboard.QueryVariableBuilder(name)
    .label(label)
    .datasource(DATASOURCE)
    .query(query)
    .refresh(dashboard.VariableRefresh.OnTimeRangeChanged)
    .multi(true)
    .includeAll(true)
    .allValue('.*')
    .current({ selected: true, text: 'All', value: '$__all' })
}

function queriesOf({ queries }: Panel): DataqueryBuilder[] {
  return queries.map(([expr, legend], i) => {
    const query = new DataqueryBuilder()
      .expr(expr)
      .refId(String.fromCharCode(65 + i))
      .datasource(DATASOURCE)
    return legend === '' ? query : query.legendFormat(legend)
  })
}

function statPanel(panel: Stat): stat.PanelBuilder {
  const { title, about, unit, warn, alarm } = panel
  const steps: dashboard.Threshold[] =
    alarm < warn
      ? [
          { value: null, color: 'red' },
          { value: alarm, color: 'orange' },
          { value: warn, color: 'green' },
        ]
      : [
          { value: null, color: 'green' },
          { value: warn, color: 'orange' },
          { value: alarm, color: 'red' },
        ]
  return new stat.PanelBuilder()
    .title(title)
    .description(about)
    .datasource(DATASOURCE)
    .targets(queriesOf(panel))
    .unit(unit)
    .decimals(unit === 'none' ? 1 : 0)
    .thresholds(new dashboard.ThresholdsConfigBuilder().mode(dashboard.ThresholdsMode.Absolute).steps(steps))
    .graphMode(common.BigValueGraphMode.Area)
    .span(4)
    .height(5)
}

function graphPanel(panel: Graph): timeseries.PanelBuilder {
  const { title, about, unit, stacked, max } = panel
  const builder = new timeseries.PanelBuilder()
    .title(title)
    .description(about)
    .datasource(DATASOURCE)
    .targets(queriesOf(panel))
    .unit(unit)
    .min(0)
    .fillOpacity(stacked ? 30 : 5)
    .gradientMode(GraphGradientMode.None)
    .legend(
      new common.VizLegendOptionsBuilder()
        .displayMode(LegendDisplayMode.List)
        .placement(LegendPlacement.Bottom)
        .showLegend(true),
    )
    .span(12)
    .height(8)
  if (stacked) builder.stacking(new common.StackingConfigBuilder().mode(StackingMode.Normal))
  // A capacity is a line above what is stacked, and no part of it.
  if (stacked)
    builder.overrideByName('capacity, measured', [
      { id: 'custom.stacking', value: { mode: 'none', group: 'A' } },
      { id: 'custom.fillOpacity', value: 0 },
      { id: 'custom.lineWidth', value: 2 },
    ])
  return max === undefined ? builder : builder.max(max)
}

/** All queries of the dashboard, with their panels. */
export function queriesOfPanels(): (readonly [panel: string, expr: string])[] {
  return [...STATS, ...GRAPHS].flatMap(({ title, queries }) => queries.map(([expr]) => [title, expr] as const))
}

/** Instruments that no panel shows. */
export function unseenInstruments(): string[] {
  const shown = queriesOfPanels().map(([, expr]) => expr)
  return Object.keys(INSTRUMENTS).filter((key) => {
    const name = prometheusName(key as InstrumentKey)
    return !shown.some((expr) => new RegExp(`\\b${name}(_bucket)?\\{`).test(expr))
  })
}
