import Martlet
package import SlideshowService

extension DemoService {
  /// Starts the demo service with the options.
  package convenience init(_ options: CommandLineOptions, port: Int) throws {
    let folder = options.photos.map { URL(filePath: $0, directoryHint: .isDirectory) } ?? DemoService.photos
    try self.init(port: port, folder: folder, rate: options.rate)
  }
}
