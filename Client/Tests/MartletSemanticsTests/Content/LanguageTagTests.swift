@_spi(Toolkit) import MartletSemantics
import Testing

@Suite("Language tags")
struct LanguageTagTests {
  @Test(arguments: [
    ("en", "en"), ("EN", "en"), ("en_US", "en-US"), ("en-us", "en-US"), ("ZH-hANT-tw", "zh-Hant-TW"),
    ("de-CH-1996", "de-CH-1996"), ("es-419", "es-419"), ("sl-rozaj-biske", "sl-rozaj-biske"), ("*", "*"),
    ("en-x-AB-cdef", "en-x-ab-cdef"), ("de-u-CO-Phonebk", "de-u-co-phonebk"), ("x-whatever", "x-whatever"),
  ])
  func tagsAreWrittenInConventionalCase(text: String, tag: String) {
    #expect(LanguageTag.normalized(text) == tag)
  }

  @Test(arguments: [
    "", "-", "en-", "-en", "en--US", "en US", "en.UTF-8", "englishlanguage", "1a", "en-toolongsubtag", "dé", "en,de",
    "en;q=0.5", "en\r\nX: y", "en-*",
  ])
  func invalidTagsAreRefused(text: String) {
    #expect(LanguageTag.normalized(text) == nil)
  }

  @Test(arguments: [
    (["de"], "de"), (["de-CH", "fr", "en"], "de-CH, fr;q=0.9, en;q=0.8"), (["de", "en", "de"], "de, en;q=0.9"),
    (
      ["aa", "ab", "ac", "ad", "ae", "af", "ag", "ah", "ai", "aj", "ak"],
      "aa, ab;q=0.9, ac;q=0.8, ad;q=0.7, ae;q=0.6, af;q=0.5, ag;q=0.4, ah;q=0.3, ai;q=0.2, aj;q=0.1, ak;q=0.1"
    ),
  ])
  func weightsDecrease(tags: [String], value: String) {
    #expect(LanguageTag.acceptLanguage(tags) == value)
  }
}

@Suite("traceparent")
struct TraceParentTests {
  @Test func theFieldHasTheFormOfVersion00() {
    let trace = TraceParent(random: (0x0af7_6519_16cd_43dd, 0x8448_eb21_1c80_319c), isSampled: true)
    #expect(trace.value(span: 0xb7ad_6b71_6920_3331) == "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01")
    #expect(trace.value(span: 1).hasSuffix("-0000000000000001-01"))
  }

  @Test func anIdentifierOfZerosIsNeverSent() {
    let trace = TraceParent(random: (0, 0), isSampled: false)
    #expect(trace.value(span: 0) == "00-00000000000000000000000000000001-0000000000000001-00")
    #expect(TraceParent(uuid: "00000000-0000-0000-0000-000000000000", isSampled: true) == nil)
  }

  @Test func aUUIDIsATraceId() {
    let trace = TraceParent(uuid: "0AF76519-16CD-43DD-8448-EB211C80319C", isSampled: true)
    #expect(trace?.traceID == "0af7651916cd43dd8448eb211c80319c")
    #expect(TraceParent(uuid: "no UUID", isSampled: true) == nil)
  }
}
