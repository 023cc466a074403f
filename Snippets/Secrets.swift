// How secrets are displayed, and how to hide or show more.

import Martlet
import MartletObservation

if let url = URL(string: "https://anna:secret@example.com/report?page=2&token=t1") {
  let request = HTTPRequest(.get, url, fields: [.authorization: "Bearer a1", "X-Company-Key": "k1"])
  print(request)

  let redaction = Redaction.standard.hiding(fields: ["X-Company-Key"])
  print(request.curlCommand(redaction: redaction))
}

// Prints:
// GET https://example.com/report?…
// Authorization: Bearer ***
// X-Company-Key: k1
// (no body)
// curl 'https://example.com/report?page=2&token=***' \
//   -H 'Authorization: Bearer ***' \
//   -H 'X-Company-Key: ***' \
//   -H 'User-Agent:' \
//   --compressed \
//   -L --max-redirs 20 --proto-redir =https
