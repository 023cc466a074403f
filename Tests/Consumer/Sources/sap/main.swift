import SAPFoundation  // enough for all that its API mentions: Foundation's networking types too

guard let url = URL(string: CommandLine.arguments[1]) else { fatalError("not a URL: \(CommandLine.arguments[1])") }
let session = SAPURLSession()
session.register(CorrelationObserver())
let done = DispatchSemaphore(value: 0)
let task = session.downloadTask(with: url) { file, response, error in
  print(file?.lastPathComponent ?? "no file", (response as? HTTPURLResponse)?.statusCode ?? 0, error.debugDescription)
  do {
    if let error = (error as? URLError)?.underlyingHTTPError { throw error }
  } catch HTTPError.Kind.cannotConnect {
    print("is the server running?")
  } catch {
    print(error)
  }
  done.signal()
}
task.resume()
done.wait()
