// One import for everything that every platform has.
@_exported public import MartletEngine
@_exported public import MartletSemantics
