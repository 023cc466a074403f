// Chooses the Foundation module for all files that import this module: `URL`, `Data` and `Date` come from the small
// FoundationEssentials where it exists, so that networking and localization are not linked by accident.
#if canImport(FoundationEssentials)
@_exported public import FoundationEssentials
#else
@_exported public import Foundation
#endif
