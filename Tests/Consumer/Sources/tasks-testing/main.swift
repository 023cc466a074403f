import MartletTasksTesting

struct Order: Codable, Sendable {
  var id: Int
}

MockSession.install()
MockSession.shared.mocks["orders/1"] = .response(encoding: Order(id: 1))
let task: NetworkTask<Order> = NetworkRequest().path("/orders/1").task()
print(try await task.value().id)
