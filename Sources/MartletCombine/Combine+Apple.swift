#if canImport(Combine)
@_exported public import Combine
#endif
