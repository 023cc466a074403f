import Foundation
import SAPFoundation

#if canImport(FoundationNetworking)
import FoundationNetworking
#endif

let session = SAPURLSession()
session.register(CorrelationObserver())
let done = DispatchSemaphore(value: 0)
let task = session.downloadTask(with: URL(string: CommandLine.arguments[1])!) { file, response, error in
  print(file?.lastPathComponent ?? "no file", (response as? HTTPURLResponse)?.statusCode ?? 0, error.debugDescription)
  done.signal()
}
task.resume()
done.wait()
