import { adapterExamples } from '@fairlead-testing/examples'

adapterExamples(new URL('../dist/', import.meta.url))
