/**
 * A TypeDoc plugin that compares the packages' exports with `report/`: one line per export and member, so that a review
 * shows a change of the surface. `pnpm --filter @fairlead-testing/api report` rewrites it.
 */
import { mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { Converter, ReflectionKind } from 'typedoc'

const FOLDER = new URL('report/', import.meta.url)
const UPDATES = process.env.FAIRLEAD_API_REPORT === 'write'

/** @param {import('typedoc').Application} app */
export function load(app) {
  app.converter.on(Converter.EVENT_END, ({ project }) => {
    const reports = new Map(project.children.map((module) => [fileOf(module.name), reportOf(module)]))
    if (UPDATES) {
      rmSync(FOLDER, { recursive: true, force: true })
      mkdirSync(FOLDER, { recursive: true })
      for (const [file, text] of reports) writeFileSync(new URL(file, FOLDER), text)
      return
    }
    const known = readdirSync(FOLDER)
    for (const file of known.filter((name) => !reports.has(name))) app.logger.error(`${file} reports what is gone`)
    for (const [file, text] of reports) {
      const before = known.includes(file) ? readFileSync(new URL(file, FOLDER), 'utf8') : ''
      if (before !== text) app.logger.error(`What ${file} reports has changed:\n${difference(before, text)}`)
    }
  })
}

const fileOf = (name) => `${name.replace('@fairlead/', '').replaceAll('/', '-')}.txt`

function reportOf(module) {
  return `${byName(module.children).flatMap(linesOf).map(sorted).join('\n')}\n`
}

/** The compiler lists the members of a union in the order in which it first met them. */
const sorted = (line) => line.replace(/"[^"]*"(?: \| "[^"]*")+/g, (words) => words.split(' | ').sort().join(' | '))

const byName = (list = []) => [...list].sort((a, b) => (a.name < b.name ? -1 : 1))

function linesOf(reflection) {
  const { kind, name, type } = reflection
  if (kind === ReflectionKind.Function) return reflection.signatures.map((each) => `function ${signature(each)}`)
  if (kind === ReflectionKind.Variable) return constant(reflection)
  if (kind === ReflectionKind.TypeAlias) return [`type ${name}${parameters(reflection)} = ${type}`]
  if (kind === ReflectionKind.Reference) return [`export ${name}`]
  const bases = (reflection.extendedTypes ?? []).filter((base) => !isHidden(base))
  // The members of a base that is not exported have no other place.
  const isWhole = bases.length < (reflection.extendedTypes ?? []).length
  const members = byName(reflection.children).filter(
    ({ flags }) => !flags.isPrivate && (isWhole ? !flags.isProtected : !flags.isInherited),
  )
  const word = kind === ReflectionKind.Class ? 'class' : 'interface'
  const above = bases.map(String).join(', ')
  const calls = (reflection.signatures ?? []).map((each) => `  ${signature(each)}`)
  return [
    `${word} ${name}${parameters(reflection)}${above && ` extends ${above}`}`,
    ...calls,
    ...members.flatMap(member).map((line) => `  ${line}`),
  ]
}

const isHidden = (base) => base.reflection === undefined && base.package?.startsWith('@fairlead/')

/** A constant; the members of an object have their own lines, and descriptions may change. */
function constant({ name, type }) {
  const parts = type.type === 'reflection' ? byName(type.declaration.children) : []
  if (parts.length === 0) return [`const ${name}: ${type}`]
  const text = (part) => member(part).map((line) => `  ${line.replace(/description: "[^"]*"/, 'description: string')}`)
  return [`const ${name}`, ...parts.flatMap(text)]
}

function member(reflection) {
  const { name, type, flags, signatures, getSignature, setSignature } = reflection
  const before = `${flags.isStatic ? 'static ' : ''}${flags.isReadonly ? 'readonly ' : ''}`
  if (signatures) return signatures.map((each) => `${before}${signature(each)}`)
  const accessors = [getSignature && `get ${name}(): ${getSignature.type}`, setSignature && `set ${name}`]
  if (getSignature || setSignature) return accessors.filter(Boolean)
  return [`${before}${name}${flags.isOptional ? '?' : ''}: ${type}`]
}

function signature({ name, type, parameters: list = [], typeParameters }) {
  const given = list.map(({ name, type, flags, defaultValue }) => {
    const optional = flags.isOptional || defaultValue !== undefined ? '?' : ''
    return `${flags.isRest ? '...' : ''}${name}${optional}: ${type}`
  })
  return `${name}${parameters({ typeParameters })}(${given.join(', ')}): ${type}`
}

const parameters = ({ typeParameters = [] }) =>
  typeParameters.length === 0
    ? ''
    : `<${typeParameters.map(({ name, type }) => (type ? `${name} extends ${type}` : name)).join(', ')}>`

function difference(before, after) {
  const [old, now] = [before, after].map((text) => text.split('\n'))
  const gone = old.filter((line) => !now.includes(line)).map((line) => `- ${line}`)
  const come = now.filter((line) => !old.includes(line)).map((line) => `+ ${line}`)
  return [...gone, ...come].join('\n') || 'the order of lines'
}
