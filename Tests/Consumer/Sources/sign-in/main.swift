#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif
import MartletSignIn

guard let service = URL(string: "https://a.example/") else { fatalError("not a URL") }
let options = CSRFOptions()
try await options.store.setToken("token", for: service)
let csrf = CSRFInterceptor(root: service, options: options)
let pages = LoginInterceptor(isChallenge: { _, _ in false }, login: { _ in })
let login = OAuthLogin.device(service.appending(path: "device")) { print($0.page, $0.userCode) }
print(options.field, try await options.store.token(for: service)?.count ?? 0, OAuthClient.Authentication.none)
withExtendedLifetime((csrf, pages, login)) {}
