import Martlet
import MartletSignIn

guard let service = URL(string: "https://a.example/") else { fatalError("not a URL") }
let session = HTTPSession()
let client = OAuthClient(id: "reader", tokenEndpoint: service.appending(path: "token"), session: session)
var configuration = SessionConfiguration()
configuration.credentials = [client.tokens(for: .origin(of: service), by: .clientCredentials(scopes: ["read"]))]
configuration.interceptors = [CSRFInterceptor(root: service)]
print(client, configuration.credentials.count, configuration.interceptors.count)
