import NightshiftAPI
import Testing

@testable import Transfers

/// Tests of the facts that follow from a request's header fields.
@Suite struct RequestFieldsTests {
    @Test func `A request has a login if it has a password or an Authorization field`() {
        var request = TaskRequest(url: "https://example.org/f")
        #expect(!request.hasLogin)
        request.headers = [HeaderField(name: "authorization", value: "Bearer x")]
        #expect(request.hasLogin)
        request.headers = nil
        request.credential = Credential(user: "ada", password: "x")
        #expect(request.hasLogin)
    }
}
