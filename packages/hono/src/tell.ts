import type { Fields } from '@fairlead/core/http'
import type { Context } from 'hono'

/**
 * Adds fields to an answer that handlers have given, whichever way: only now, because a `new Response()` of theirs
 * knows nothing of what was set before. Where one is there already, this goes to its list.
 */
export function tell(c: Context, fields: Fields | undefined): void {
  for (const name in fields) c.header(name, fields[name], { append: true })
}
