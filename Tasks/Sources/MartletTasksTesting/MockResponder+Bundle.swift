public import Foundation
public import MartletTasks

// `Bundle` needs all of Foundation, which the rest of the module does not import.
extension MockResponder {
  /// A response with the JSON file of that name: `Name.json`, at the top of the bundle or in its folder `Fixtures`, or
  /// in one of the resource bundles in the same folder. The file is read immediately.
  ///
  /// ```swift
  /// MockSession.shared["category"] = .response(from: .module, json: "Category")
  /// ```
  ///
  /// Swift packages put the resources of tests into a separate bundle, `.module`; `Bundle(for:)` of a test's class
  /// finds them too. If the file does not exist, the task fails with an `HTTPError` of kind `.file` that names it.
  public static func response(
    from bundle: Bundle, json name: String, status: HTTPStatus = .ok, headers: HTTPFields = [:]
  ) -> MockResponder {
    let places = [bundle] + bundle.neighbours
    guard let url = places.lazy.compactMap({ $0.url(forResource: name, withExtension: "json", in: "Fixtures") }).first
    else {
      return .error(
        HTTPError(.file, "file not found: no \(name).json in \(bundle.bundlePath), nor in a bundle in the same folder"))
    }
    do {
      return .response(
        json: String(decoding: try Data(contentsOf: url), as: UTF8.self), status: status, headers: headers)
    } catch {
      return .error(HTTPError(.file, "the mock's file \(url.path) cannot be read", underlying: error))
    }
  }
}

extension Bundle {
  /// Returns the file at the top of the bundle, or in its folder of this name.
  fileprivate func url(forResource name: String, withExtension ending: String, in folder: String) -> URL? {
    url(forResource: name, withExtension: ending) ?? url(forResource: name, withExtension: ending, subdirectory: folder)
  }

  /// The resource bundles of Swift packages inside the bundle and in its folder.
  fileprivate var neighbours: [Bundle] {
    let folders = [bundleURL, bundleURL.deletingLastPathComponent()]
    let urls = folders.flatMap {
      (try? FileManager.default.contentsOfDirectory(at: $0, includingPropertiesForKeys: nil)) ?? []
    }
    return urls.filter { ["resources", "bundle"].contains($0.pathExtension) }
      .sorted { $0.path < $1.path }.compactMap { Bundle(url: $0) }
  }
}
