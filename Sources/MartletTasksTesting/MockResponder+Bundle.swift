public import Foundation
public import MartletTasks

extension MockResponder {
  /// A response with the JSON file of that name: `Name.json`, at the top of the bundle or in its folder `Fixtures`, or there in
  /// one of the resource bundles beside it. The file is read at once.
  ///
  /// ```swift
  /// MockSession.shared["category"] = .response(from: .module, json: "Category")
  /// ```
  ///
  /// Swift packages put the resources of tests into a bundle of their own, `.module`; `Bundle(for:)` of a test's class finds
  /// them too. A file that is not there makes the task fail with an `HTTPError` of kind `.file` that names it.
  public static func response(
    from bundle: Bundle, json name: String, status: HTTPStatus = .ok, headers: HTTPFields = [:]
  ) -> MockResponder {
    let places = [bundle] + bundle.neighbours
    guard let url = places.lazy.compactMap({ $0.url(forResource: name, withExtension: "json", in: "Fixtures") }).first
    else {
      return .error(
        HTTPError(.file, "file not found: there is no \(name).json in \(bundle.bundlePath), nor in a bundle beside it"))
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
  /// The file at the bundle's top, or in its folder of this name.
  fileprivate func url(forResource name: String, withExtension ending: String, in folder: String) -> URL? {
    url(forResource: name, withExtension: ending) ?? url(forResource: name, withExtension: ending, subdirectory: folder)
  }

  /// The resource bundles of Swift packages in the same folder.
  fileprivate var neighbours: [Bundle] {
    let folders = [bundleURL, bundleURL.deletingLastPathComponent()]
    let urls = folders.flatMap {
      (try? FileManager.default.contentsOfDirectory(at: $0, includingPropertiesForKeys: nil)) ?? []
    }
    return urls.filter { ["resources", "bundle"].contains($0.pathExtension) }
      .sorted { $0.path < $1.path }.compactMap { Bundle(url: $0) }
  }
}
