// Makes URLSession available to the module and its users: from FoundationNetworking where it exists, otherwise from
// Foundation.
@_exported public import Foundation
#if canImport(FoundationNetworking)
@_exported public import FoundationNetworking
#endif
