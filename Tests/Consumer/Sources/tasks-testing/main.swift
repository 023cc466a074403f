import MartletTasksTesting

struct Order: Codable, Sendable {
  var id: Int
}

let session: StandardNetworkSession = MockSession.shared
Container.shared.networkSession = .single { session }
MockSession.shared.mocks["orders/1"] = .response(encoding: Order(id: 1))
let task: NetworkTask<Order> = NetworkRequest().path("/orders/1").task()
print(try await task.value().id)
