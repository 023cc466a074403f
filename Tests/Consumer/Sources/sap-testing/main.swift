import SAPFoundationTesting

let service = try MobileServices(.init(applicationID: "com.example.shop"))
print(service.url.absoluteString)
