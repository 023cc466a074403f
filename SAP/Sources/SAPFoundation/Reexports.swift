// `import SAPFoundation` provides everything that its API uses: Foundation and its networking types, publishers, and
// some types of the engine. The engine as a whole is not re-exported, because other libraries have types with the same
// names (`HTTPRequest`, `HTTPMethod`). The files of this module import neither Foundation nor MartletCombine: these
// imports are visible in all of them.
@_exported public import Foundation
@_exported public import MartletCombine
@_exported public import struct MartletEngine.CallContext
@_exported public import struct MartletEngine.ClientCertificate
@_exported public import struct MartletEngine.ConnectionConfiguration
@_exported public import struct MartletEngine.CredentialScope
@_exported public import protocol MartletEngine.CredentialSource
@_exported public import struct MartletEngine.DefaultFieldsInterceptor
@_exported public import class MartletEngine.HTTPCache
@_exported public import struct MartletEngine.HTTPError
@_exported public import enum MartletEngine.LogLevel
@_exported public import protocol MartletEngine.LogSink
@_exported public import class MartletEngine.MemoryCacheStore
@_exported public import struct MartletEngine.Proxy
@_exported public import struct MartletEngine.ServerTrust
@_exported public import struct MartletEngine.StandardErrorLog
@_exported public import struct MartletEngine.TLSSettings
@_exported public import struct MartletEngine.TransferMetrics
@_exported public import MartletCombineFoundation
@_exported public import struct MartletSQLite.SQLiteCacheStore
@_exported public import struct MartletSQLite.SetAsideFile
@_exported public import struct MartletSemantics.FieldName
@_exported public import struct MartletSemantics.HTTPStatus

#if canImport(FoundationNetworking)
@_exported public import FoundationNetworking
#endif

/// Whether the error is an `HTTPError` of this kind, for `catch HTTPError.Kind.cancelled`. Re-exporting a type alone
/// does not re-export its operators.
@_disfavoredOverload
public func ~= (kind: HTTPError.Kind, error: any Error) -> Bool { (error as? HTTPError)?.kind == kind }
