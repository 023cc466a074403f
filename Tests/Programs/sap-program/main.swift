import SAPFoundation

// A program with a SAPURLSession whose cache is in a folder, for tests that need a separate process. It prints the
// result for each URL, and ends directly afterwards.
//
//     sap-program FOLDER [clear] URL...
let arguments = CommandLine.arguments.dropFirst()
guard let folder = arguments.first else { exit(2) }
let configuration = URLSessionConfiguration.default
configuration.urlCache = URLCache(memoryCapacity: 0, diskCapacity: 10 << 20, directory: URL(filePath: folder))
let session = SAPURLSession(configuration: configuration)

for argument in arguments.dropFirst() {
  guard argument != "clear" else {
    session.configuration.urlCache?.removeAllCachedResponses()
    session.configuration.httpCookieStorage?.removeCookies(since: .distantPast)
    continue
  }
  guard let url = URL(string: argument) else { exit(2) }
  let isOver = DispatchSemaphore(value: 0)
  session.dataTask(with: url) { data, response, error in
    let text = data.map { String(decoding: $0, as: UTF8.self) }
    print(
      (response as? HTTPURLResponse)?.statusCode ?? 0, text ?? (error as? URLError).map { "\($0.code.rawValue)" } ?? "")
    isOver.signal()
  }.resume()
  isOver.wait()
}
