// The module and its users get URLSession: from FoundationNetworking where that exists, else from Foundation.
@_exported public import Foundation
#if canImport(FoundationNetworking)
@_exported public import FoundationNetworking
#endif
