import MartletKerberos

let tickets = KerberosTickets(cache: "FILE:/nonexistent/tickets")
print((try? await tickets.token(for: "a.example")) == nil, NegotiateSource(for: .any, with: tickets))
