import Foundation
import MartletTesting
import Testing

@Suite(.timeLimit(.minutes(5)))
struct TemporaryFolderTests {
  @Test func onlyTheUserCanEnterItAndItIsRemovedWithItsLastReference() throws {
    var folder: TemporaryFolder? = try TemporaryFolder()
    let path = try #require(folder?.url.path)
    try folder?.write(Data("text".utf8), to: "a/b.txt")

    #expect(try FileManager.default.attributesOfItem(atPath: path)[.posixPermissions] as? Int == 0o700)
    folder = nil
    #expect(!FileManager.default.fileExists(atPath: path))
  }
}
