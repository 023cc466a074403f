// SAP's documented session, with a token against forged requests, the Gateway's messages, and a picture from a
// publisher.

import Foundation
import MartletCombine
import MartletTesting
import SAPFoundation
import SAPFoundationTesting

#if canImport(FoundationNetworking)
import FoundationNetworking
#endif

let service = try MobileServices(
  .init(applicationID: "com.example.shop", media: ["It's coffee": Media(Data("a picture".utf8))]))
let backend = service.url("/backend")

let session = SAPURLSession()
session.register(SAPcpmsObserver(applicationID: "com.example.shop", deviceID: nil))
session.register(CorrelationObserver())
session.register(CSRFTokenObserver(rootUrl: backend))
session.register(SAPcpmsUserBlockedObserver { error in print("blocked:", error) })

var order = URLRequest(url: backend.appending(path: "Orders"))
order.httpMethod = SAPURLSession.HTTPMethod.post

func answer(to request: URLRequest) async -> String {
  await withCheckedContinuation { continuation in
    session.dataTask(with: request) { data, response, error in
      let failure =
        error.map { SAPURLError($0) } ?? response.flatMap { SAPURLError(response: $0, data: data ?? Data()) }
      continuation.resume(returning: failure?.localizedDescription ?? "ordered")
    }.resume()
  }
}

print(await answer(to: order))
service.answer("/backend/Orders", with: .odataError(.v2, status: 400, code: "M_/011", message: "Three cups are left."))
print(await answer(to: order))

let picture = session.dataTaskPublisher(for: backend.odataMedia("Images", "It's coffee"))
  .tryMap { data, response in try SAPURLError.checked(data, response) }
  .replaceError(with: Data("a placeholder".utf8))
for await data in picture.values { print(String(decoding: data, as: UTF8.self)) }

// Prints:
// ordered
// Three cups are left.
// a picture
