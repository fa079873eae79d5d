import { adapterExamples } from '@fairlead/examples-testing'

adapterExamples(new URL('../dist/', import.meta.url))
