/// The signatures of RFC 9421, with the text that each is made of.
enum RFCVectors {
  static let all: [SignatureVector] = [
    SignatureVector(
      section: "B.2.1", label: "sig-b21", message: .request, key: .rsaPSS,
      input: """
        sig-b21=();created=1618884473;keyid="test-key-rsa-pss";nonce="b3k2pp5k7z-50gnwp.yemd"
        """,
      signature: """
        sig-b21=:d2pmTvmbncD3xQm8E9ZV2828BjQWGgiwAaw5bAkgibUopemLJcWDy/lkbbHAve4cRAtx31Iq786U7it++wgGxbtRxf8Udx7\
        zFZsckzXaJMkA7ChG52eSkFxykJeNqsrWH5S+oxNFlD4dzVuwe8DhTSja8xxbR/Z2cOGdCbzR72rgFWhzx2VjBqJzsPLMIQKhO4DGezX\
        ehhWwE56YCE+O6c0mKZsfxVrogUvA4HELjVKWmAvtl6UnCh8jYzuVG5WSb/QEVPnP5TmcAnLH1g+s++v6d4s8m0gCw1fV5/SITLq9mhh\
        o8K3+7EPYTU8IU1bLhdxO5Nyt8C8ssinQ98Xw9Q==:
        """,
      base: """
        "@signature-params": ();created=1618884473;keyid="test-key-rsa-pss";nonce="b3k2pp5k7z-50gnwp.yemd"
        """),
    SignatureVector(
      section: "B.2.2", label: "sig-b22", message: .request, key: .rsaPSS,
      input: """
        sig-b22=("@authority" "content-digest" "@query-param";name="Pet");created=1618884473;keyid="test-key-rsa\
        -pss";tag="header-example"
        """,
      signature: """
        sig-b22=:LjbtqUbfmvjj5C5kr1Ugj4PmLYvx9wVjZvD9GsTT4F7GrcQEdJzgI9qHxICagShLRiLMlAJjtq6N4CDfKtjvuJyE5qH7KT8\
        UCMkSowOB4+ECxCmT8rtAmj/0PIXxi0A0nxKyB09RNrCQibbUjsLS/2YyFYXEu4TRJQzRw1rLEuEfY17SARYhpTlaqwZVtR8NV7+4UKk\
        jqpcAoFqWFQh62s7Cl+H2fjBSpqfZUJcsIk4N6wiKYd4je2U/lankenQ99PZfB4jY3I5rSV2DSBVkSFsURIjYErOs0tFTQosMTAoxk//\
        0RoKUqiYY8Bh0aaUEb0rQl3/XaVe4bXTugEjHSw==:
        """,
      base: """
        "@authority": example.com
        "content-digest": sha-512=:WZDPaVn/7XgHaAy8pmojAkGWoRx2UFChF41A2svX+TaPm+AbwAgBWnrIiYllu7BNNyealdVLvRwEm\
        THWXvJwew==:
        "@query-param";name="Pet": dog
        "@signature-params": ("@authority" "content-digest" "@query-param";name="Pet");created=1618884473;keyid=\
        "test-key-rsa-pss";tag="header-example"
        """),
    SignatureVector(
      section: "B.2.3", label: "sig-b23", message: .request, key: .rsaPSS,
      input: """
        sig-b23=("date" "@method" "@path" "@query" "@authority" "content-type" "content-digest" "content-length"\
        );created=1618884473;keyid="test-key-rsa-pss"
        """,
      signature: """
        sig-b23=:bbN8oArOxYoyylQQUU6QYwrTuaxLwjAC9fbY2F6SVWvh0yBiMIRGOnMYwZ/5MR6fb0Kh1rIRASVxFkeGt683+qRpRRU5p2v\
        oTp768ZrCUb38K0fUxN0O0iC59DzYx8DFll5GmydPxSmme9v6ULbMFkl+V5B1TP/yPViV7KsLNmvKiLJH1pFkh/aYA2HXXZzNBXmIkoQ\
        oLd7YfW91kE9o/CCoC1xMy7JA1ipwvKvfrs65ldmlu9bpG6A9BmzhuzF8Eim5f8ui9eH8LZH896+QIF61ka39VBrohr9iyMUJpvRX2Zb\
        hl5ZJzSRxpJyoEZAFL2FUo5fTIztsDZKEgM4cUA==:
        """,
      base: """
        "date": Tue, 20 Apr 2021 02:07:55 GMT
        "@method": POST
        "@path": /foo
        "@query": ?param=Value&Pet=dog
        "@authority": example.com
        "content-type": application/json
        "content-digest": sha-512=:WZDPaVn/7XgHaAy8pmojAkGWoRx2UFChF41A2svX+TaPm+AbwAgBWnrIiYllu7BNNyealdVLvRwEm\
        THWXvJwew==:
        "content-length": 18
        "@signature-params": ("date" "@method" "@path" "@query" "@authority" "content-type" "content-digest" "co\
        ntent-length");created=1618884473;keyid="test-key-rsa-pss"
        """),
    SignatureVector(
      section: "B.2.4", label: "sig-b24", message: .response, key: .p256,
      input: """
        sig-b24=("@status" "content-type" "content-digest" "content-length");created=1618884473;keyid="test-key-\
        ecc-p256"
        """,
      signature: """
        sig-b24=:wNmSUAhwb5LxtOtOpNa6W5xj067m5hFrj0XQ4fvpaCLx0NKocgPquLgyahnzDnDAUy5eCdlYUEkLIj+32oiasw==:
        """,
      base: """
        "@status": 200
        "content-type": application/json
        "content-digest": sha-512=:mEWXIS7MaLRuGgxOBdODa3xqM1XdEvxoYhvlCFJ41QJgJc4GTsPp29l5oGX69wWdXymyU0rjJuahq\
        4l5aGgfLQ==:
        "content-length": 23
        "@signature-params": ("@status" "content-type" "content-digest" "content-length");created=1618884473;key\
        id="test-key-ecc-p256"
        """),
    SignatureVector(
      section: "B.2.5", label: "sig-b25", message: .request, key: .secret,
      input: """
        sig-b25=("date" "@authority" "content-type");created=1618884473;keyid="test-shared-secret"
        """,
      signature: """
        sig-b25=:pxcQw6G3AjtMBQjwo8XzkZf/bws5LelbaMk5rGIGtE8=:
        """,
      base: """
        "date": Tue, 20 Apr 2021 02:07:55 GMT
        "@authority": example.com
        "content-type": application/json
        "@signature-params": ("date" "@authority" "content-type");created=1618884473;keyid="test-shared-secret"
        """),
    SignatureVector(
      section: "B.2.6", label: "sig-b26", message: .request, key: .ed25519,
      input: """
        sig-b26=("date" "@method" "@path" "@authority" "content-type" "content-length");created=1618884473;keyid\
        ="test-key-ed25519"
        """,
      signature: """
        sig-b26=:wqcAqbmYJ2ji2glfAMaRy4gruYYnx2nEFN2HN6jrnDnQCK1u02Gb04v9EDgwUPiu4A0w6vuQv5lIp5WPpBKRCw==:
        """,
      base: """
        "date": Tue, 20 Apr 2021 02:07:55 GMT
        "@method": POST
        "@path": /foo
        "@authority": example.com
        "content-type": application/json
        "content-length": 18
        "@signature-params": ("date" "@method" "@path" "@authority" "content-type" "content-length");created=161\
        8884473;keyid="test-key-ed25519"
        """),
    SignatureVector(
      section: "B.3", label: "ttrp", message: .proxied, key: .p256,
      input: """
        ttrp=("@path" "@query" "@method" "@authority" "client-cert");created=1618884473;keyid="test-key-ecc-p256\
        "
        """,
      signature: """
        ttrp=:xVMHVpawaAC/0SbHrKRs9i8I3eOs5RtTMGCWXm/9nvZzoHsIg6Mce9315T6xoklyy0yzhD9ah4JHRwMLOgmizw==:
        """,
      base: """
        "@path": /foo
        "@query": ?param=Value&Pet=dog
        "@method": POST
        "@authority": service.internal.example
        "client-cert": :MIIBqDCCAU6gAwIBAgIBBzAKBggqhkjOPQQDAjA6MRswGQYDVQQKDBJMZXQncyBBdXRoZW50aWNhdGUxGzAZBgNV\
        BAMMEkxBIEludGVybWVkaWF0ZSBDQTAeFw0yMDAxMTQyMjU1MzNaFw0yMTAxMjMyMjU1MzNaMA0xCzAJBgNVBAMMAkJDMFkwEwYHKoZI\
        zj0CAQYIKoZIzj0DAQcDQgAE8YnXXfaUgmnMtOXU/IncWalRhebrXmckC8vdgJ1p5Be5F/3YC8OthxM4+k1M6aEAEFcGzkJiNy6J84y7\
        uzo9M6NyMHAwCQYDVR0TBAIwADAfBgNVHSMEGDAWgBRm3WjLa38lbEYCuiCPct0ZaSED2DAOBgNVHQ8BAf8EBAMCBsAwEwYDVR0lBAww\
        CgYIKwYBBQUHAwIwHQYDVR0RAQH/BBMwEYEPYmRjQGV4YW1wbGUuY29tMAoGCCqGSM49BAMCA0gAMEUCIBHda/r1vaL6G3VliL4/Di6Y\
        K0Q6bMjeSkC3dFCOOB8TAiEAx/kHSB4urmiZ0NX5r5XarmPk0wmuydBVoU4hBVZ1yhk=:
        "@signature-params": ("@path" "@query" "@method" "@authority" "client-cert");created=1618884473;keyid="t\
        est-key-ecc-p256"
        """),
    SignatureVector(
      section: "B.4", label: "transform", message: .transformed, key: .ed25519,
      input: """
        transform=("@method" "@path" "@authority" "accept");created=1618884473;keyid="test-key-ed25519"
        """,
      signature: """
        transform=:ZT1kooQsEHpZ0I1IjCqtQppOmIqlJPeo7DHR3SoMn0s5JZ1eRGS0A+vyYP9t/LXlh5QMFFQ6cpLt2m0pmj3NDA==:
        """,
      base: """
        "@method": GET
        "@path": /demo
        "@authority": example.org
        "accept": application/json, */*
        "@signature-params": ("@method" "@path" "@authority" "accept");created=1618884473;keyid="test-key-ed2551\
        9"
        """),
    SignatureVector(
      section: "2.4", label: "reqres", message: .answer, key: .p256,
      input: """
        reqres=("@status" "content-digest" "content-type" "@authority";req "@method";req "@path";req "content-di\
        gest";req);created=1618884479;keyid="test-key-ecc-p256"
        """,
      signature: """
        reqres=:dMT/A/76ehrdBTD/2Xx8QuKV6FoyzEP/I9hdzKN8LQJLNgzU4W767HK05rx1i8meNQQgQPgQp8wq2ive3tV5Ag==:
        """,
      base: """
        "@status": 503
        "content-digest": sha-512=:0Y6iCBzGg5rZtoXS95Ijz03mslf6KAMCloESHObfwnHJDbkkWWQz6PhhU9kxsTbARtY2PTBOzq24u\
        JFpHsMuAg==:
        "content-type": application/json
        "@authority";req: example.com
        "@method";req: POST
        "@path";req: /foo
        "content-digest";req: sha-512=:WZDPaVn/7XgHaAy8pmojAkGWoRx2UFChF41A2svX+TaPm+AbwAgBWnrIiYllu7BNNyealdVLv\
        RwEmTHWXvJwew==:
        "@signature-params": ("@status" "content-digest" "content-type" "@authority";req "@method";req "@path";r\
        eq "content-digest";req);created=1618884479;keyid="test-key-ecc-p256"
        """),
    SignatureVector(
      section: "2.4, to a signed request", label: "reqres", message: .answer, key: .p256,
      input: """
        reqres=("@status" "content-digest" "content-type" "@authority";req "@method";req "@path";req "@query";re\
        q "content-digest";req "content-type";req "content-length";req);created=1618884479;keyid="test-key-ecc-p\
        256"
        """,
      signature: """
        reqres=:C73J41GVKc+TYXbSobvZf0CmNcptRiWN+NY1Or0A36ISg6ymdRN6ZgR2QfrtopFNzqAyv+CeWrMsNbcV2Ojsgg==:
        """,
      base: """
        "@status": 503
        "content-digest": sha-512=:0Y6iCBzGg5rZtoXS95Ijz03mslf6KAMCloESHObfwnHJDbkkWWQz6PhhU9kxsTbARtY2PTBOzq24u\
        JFpHsMuAg==:
        "content-type": application/json
        "@authority";req: example.com
        "@method";req: POST
        "@path";req: /foo
        "@query";req: ?param=Value&Pet=dog
        "content-digest";req: sha-512=:WZDPaVn/7XgHaAy8pmojAkGWoRx2UFChF41A2svX+TaPm+AbwAgBWnrIiYllu7BNNyealdVLv\
        RwEmTHWXvJwew==:
        "content-type";req: application/json
        "content-length";req: 18
        "@signature-params": ("@status" "content-digest" "content-type" "@authority";req "@method";req "@path";r\
        eq "@query";req "content-digest";req "content-type";req "content-length";req);created=1618884479;keyid="\
        test-key-ecc-p256"
        """),
  ]

  /// The certificate of B.3.
  static let certificate = """
    :MIIBqDCCAU6gAwIBAgIBBzAKBggqhkjOPQQDAjA6MRswGQYDVQQKDBJMZXQncyBBdXRoZW50aWNhdGUxGzAZBgNVBAMMEkxBIEludGVybWV\
    kaWF0ZSBDQTAeFw0yMDAxMTQyMjU1MzNaFw0yMTAxMjMyMjU1MzNaMA0xCzAJBgNVBAMMAkJDMFkwEwYHKoZIzj0CAQYIKoZIzj0DAQcDQgA\
    E8YnXXfaUgmnMtOXU/IncWalRhebrXmckC8vdgJ1p5Be5F/3YC8OthxM4+k1M6aEAEFcGzkJiNy6J84y7uzo9M6NyMHAwCQYDVR0TBAIwADA\
    fBgNVHSMEGDAWgBRm3WjLa38lbEYCuiCPct0ZaSED2DAOBgNVHQ8BAf8EBAMCBsAwEwYDVR0lBAwwCgYIKwYBBQUHAwIwHQYDVR0RAQH/BBM\
    wEYEPYmRjQGV4YW1wbGUuY29tMAoGCCqGSM49BAMCA0gAMEUCIBHda/r1vaL6G3VliL4/Di6YK0Q6bMjeSkC3dFCOOB8TAiEAx/kHSB4urmi\
    Z0NX5r5XarmPk0wmuydBVoU4hBVZ1yhk=:
    """
}
