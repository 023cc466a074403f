// Which Foundation the package speaks is decided here, once: `URL`, `Data` and `Date` come from the small
// FoundationEssentials where it exists, so that nothing above pulls in networking or localisation by accident.
#if canImport(FoundationEssentials)
@_exported public import FoundationEssentials
#else
@_exported public import Foundation
#endif
