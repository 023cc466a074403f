// Which Foundation the module speaks is decided here, once: `Data` comes from the small FoundationEssentials where it
// exists.
#if canImport(FoundationEssentials)
@_exported public import FoundationEssentials
#else
@_exported public import Foundation
#endif
