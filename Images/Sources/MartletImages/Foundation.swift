// The module and its users get `Data` and `URL` from FoundationEssentials where it exists, otherwise from Foundation.
#if canImport(FoundationEssentials)
@_exported public import FoundationEssentials
#else
@_exported public import Foundation
#endif
