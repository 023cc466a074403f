#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif
import MartletSQLite

let folder = FileManager.default.temporaryDirectory.appending(path: UUID().uuidString)
defer { try? FileManager.default.removeItem(at: folder) }
let store = try SQLiteKeyValueStore(at: folder.appending(path: "values.sqlite"))
try await store.set(Data("42".utf8), for: "answer")
print(try await store.value(for: "answer")?.count ?? 0)
