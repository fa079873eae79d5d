import { requireAbove, requireInteger, requireOptions, requireText } from '../options.js'
import type { RequestOptions } from './options.js'

type Option<Target extends readonly unknown[], Name extends keyof RequestOptions<Target>> = NonNullable<
  RequestOptions<Target>[Name]
>

/** What can be said of a route where it is declared. Functions are as the options of the same name. */
export interface RouteSettings<Target extends readonly unknown[]> {
  /** What a request will cost, above 0. */
  readonly cost?: number | Option<Target, 'cost'>
  /** What we are fair between here: one flow for all, or a function that names it. */
  readonly flow?: string | Option<Target, 'flow'>
  /** What a request will use, where that may be short while the rest of the service is not. */
  readonly resource?: string | Option<Target, 'resource'>
  /** A whole number from -2 (give it up first) to 2 (give it up last). */
  readonly priority?: number | Option<Target, 'priority'>
}

/** Checks them. Throws a `TypeError` or `RangeError` that names what is wrong and its value; `name` is who has them. */
export function requireRouteSettings<Target extends readonly unknown[]>(
  name: string,
  settings: RouteSettings<Target>,
): void {
  requireOptions(name, settings, ['cost', 'flow', 'priority', 'resource'])
  const { cost, flow, priority, resource } = settings
  if (cost !== undefined && typeof cost !== 'function') requireAbove('cost', cost, 0)
  if (flow !== undefined && typeof flow !== 'function') requireText('flow', flow)
  if (resource !== undefined && typeof resource !== 'function') requireText('resource', resource)
  if (priority !== undefined && typeof priority !== 'function') requireInteger('priority', priority, -2, 2)
}

type PerRequest<Target extends readonly unknown[]> = Required<
  Pick<RequestOptions<Target>, 'cost' | 'flow' | 'priority' | 'resource' | 'skip'>
>

/** The options that a route can set: what it says (`skip`: the gate does not see it), or else what `options` do. */
export function withRouteSettings<Target extends readonly unknown[]>(
  options: RequestOptions<Target>,
  settingsOf: (...target: Target) => RouteSettings<Target> & { readonly skip: boolean },
): PerRequest<Target> {
  const { cost, flow, priority, resource, skip } = options
  return {
    cost: (...target) => settingOf(settingsOf(...target).cost, target) ?? cost?.(...target),
    flow: (...target) => settingOf(settingsOf(...target).flow, target) ?? flow?.(...target),
    priority: (...target) => settingOf(settingsOf(...target).priority, target) ?? priority?.(...target),
    resource: (...target) => settingOf(settingsOf(...target).resource, target) ?? resource?.(...target),
    skip: (...target) => settingsOf(...target).skip || skip?.(...target),
  }
}

function settingOf<Target extends readonly unknown[], Given extends number | string, Answer>(
  setting: Given | ((...target: Target) => Answer) | undefined,
  target: Target,
): Given | Answer | undefined {
  return typeof setting === 'function' ? setting(...target) : setting
}
