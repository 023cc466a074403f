import MartletTasks

struct Order: Codable, Sendable {
  var id: Int
}

let account = AccountAuthenticator()
Container.shared.environment = .single { NetworkEnvironment(baseURL: URL(string: "https://shop.invalid")) }
Container.shared.authenticator = .single { account }
let task: NetworkTask<Order> = NetworkRequest().path("/orders/1").task()
print(task, type(of: Container.shared.networkSession()))
