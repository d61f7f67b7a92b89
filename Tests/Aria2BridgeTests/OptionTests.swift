import Testing

@testable import Aria2Bridge

/// B7: The options of aria2.
@Suite struct OptionTests {
    @Test func `Every row of the table has an effect or none, and every difference has a remark`() {
        #expect(Option.all.count > 140)
        for option in Option.all.values where option.support != .none {
            #expect(!option.remark.isEmpty, "\(option.name)")
        }
    }

    @Test func `The default of each option is one of its values`() throws {
        for option in Option.all.values {
            guard let standard = option.standard else { continue }
            #expect(try option.canonical(standard) == standard, "\(option.name)")
        }
    }

    @Test(arguments: [
        ("max-download-limit", "10K", "10240"), ("max-download-limit", "2m", "2097152"), ("split", "07", "7"),
        ("pause", "true", "true"), ("uri-selector", "inorder", "inorder"), ("out", "a b", "a b"),
    ])
    func `Values have the form of aria2`(name: String, value: String, expected: String) throws {
        #expect(try #require(Option.all[name]).canonical(value) == expected)
    }

    @Test(arguments: [
        ("split", "0"), ("split", ""), ("max-connection-per-server", "17"), ("max-download-limit", "1G"),
        ("max-download-limit", "-1"), ("max-download-limit", "9223372036854775807K"), ("pause", "yes"),
        ("uri-selector", "x"), ("timeout", "601"),
    ])
    func `Wrong values are refused with aria2's message`(name: String, value: String) throws {
        let option = try #require(Option.all[name])
        #expect(throws: RPCError("We encountered a problem while processing the option '--\(name)'.")) {
            try option.canonical(value)
        }
    }

    @Test func `A value that would weaken a download is refused`() throws {
        let option = try #require(Option.all["check-certificate"])
        #expect(try option.canonical("true") == "true")
        #expect(throws: RPCError.self) { try option.canonical("false") }
    }
}
