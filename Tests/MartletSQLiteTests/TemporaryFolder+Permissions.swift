import Foundation
import MartletTesting

extension TemporaryFolder {
  /// The permissions of one of its files.
  func permissions(of name: String) throws -> Int {
    let attributes = try FileManager.default.attributesOfItem(atPath: file(name).path)
    return (attributes[.posixPermissions] as? NSNumber)?.intValue ?? -1
  }
}
