@_spi(Credentials) import MartletSemantics
import Testing

/// RFC 6749 §5.2, and the statuses that say nothing about credentials.
@Suite struct RenewalFailureTests {
  @Test(
    arguments: [
      (400, "invalid_grant", RenewalFailure.refused), (401, "invalid_grant", .refused),
      (403, "invalid_grant", .refused),
      (404, "invalid_grant", .refused), (200, "invalid_grant", .refused),
      // codes of servers that do not follow the RFC, with the status of a refusal or none
      (200, "bad_refresh_token", .refused), (401, "invalid_token", .refused), (403, "unauthorized_client", .refused),
      (400, "invalid_request", .refused), (400, "unsupported_grant_type", .refused), (400, "invalid_scope", .refused),
      (400, "interaction_required", .refused), (400, "Bad Request", .refused),
      // no code
      (400, nil, .refused), (401, nil, .refused), (403, nil, .refused), (410, nil, .refused), (422, nil, .refused),
      // the client itself
      (401, "invalid_client", .unusable), (400, "invalid_client", .unusable),
      (200, "incorrect_client_credentials", .unusable),
      // another place, or no answer to the question
      (200, nil, .unusable), (204, nil, .unusable), (302, nil, .unusable), (307, nil, .unusable), (404, nil, .unusable),
      (404, "not_found", .unusable), (405, nil, .unusable), (413, nil, .unusable), (415, nil, .unusable),
      (426, nil, .unusable), (431, nil, .unusable),
      // not now
      (400, "temporarily_unavailable", .temporary), (400, "server_error", .temporary), (400, "slow_down", .temporary),
      (400, "use_dpop_nonce", .temporary),
      (200, "temporarily_unavailable", .temporary),
      (407, nil, .temporary), (408, nil, .temporary), (421, nil, .temporary), (425, nil, .temporary),
      (429, nil, .temporary), (429, "access_denied", .temporary), (429, "invalid_grant", .temporary),
      (500, nil, .temporary), (500, "invalid_grant", .temporary), (501, nil, .temporary), (502, nil, .temporary),
      (503, nil, .temporary), (503, "invalid_client", .temporary), (504, nil, .temporary), (511, nil, .temporary),
      (599, nil, .temporary),
    ] as [(Int, String?, RenewalFailure)])
  func responseSaysWhetherTheLoginHasEnded(_ status: Int, _ code: String?, _ expected: RenewalFailure) {
    #expect(RenewalFailure(HTTPStatus(status), code: code) == expected)
  }
}
