import NightshiftAPI
import Testing
import Transfers

@Suite struct ValidatorsTests {
    @Test func `Validators are read from the response head`() {
        let validators = Validators(
            head: head(200, ["etag": " \"a\" ", "Last-Modified": oldDate, "DATE": serverDate, "ETag": "\"b\""]))
        #expect(validators == Validators(entityTag: "\"a\"", lastModified: oldDate, date: serverDate))
        #expect(Validators(head: head(200, ["ETag": ""])) == Validators())
    }

    @Test(arguments: [
        ("\"a\"", true), ("\"\"", true), ("\"\u{FC}/+=:\"", true), ("W/\"a\"", false), ("w/\"a\"", false), ("a", false),
        ("\"a", false), ("\"a\"b", false), ("\"a b\"", false), ("\"", false), ("W/", false), ("\"a\u{7F}\"", false),
    ])
    func `An entity tag is strong only if it is quoted and not marked as weak`(tag: String, isStrong: Bool) {
        #expect(Validators(entityTag: tag).strongEntityTag == (isStrong ? tag : nil))
    }

    @Test(arguments: [
        (oldDate, serverDate as String?, true),
        (oldDate, "Sun, 06 Nov 1994 08:49:38 GMT", true),
        (oldDate, oldDate, false),
        (newDate, oldDate, false),
        (oldDate, nil, false),
        (oldDate, "soon", false),
        ("yesterday", serverDate, false),
    ])
    func `A modification date is strong only if it is earlier than the response's date`(
        modified: String, date: String?, isStrong: Bool
    ) {
        let validators = Validators(lastModified: modified, date: date)
        #expect(validators.strongLastModified == (isStrong ? modified : nil))
    }

    struct Pair: Sendable, CustomTestStringConvertible {
        var left: Validators
        var right: Validators
        var contradicts: Bool
        var confirms: Bool

        init(_ left: Validators, _ right: Validators, contradicts: Bool, confirms: Bool) {
            self.left = left
            self.right = right
            self.contradicts = contradicts
            self.confirms = confirms
        }

        var testDescription: String { "\(left) \(right)" }
    }

    private static func v(_ tag: String?, _ modified: String? = nil, date: String? = serverDate) -> Validators {
        Validators(entityTag: tag, lastModified: modified, date: date)
    }

    static let pairs = [
        Pair(v("\"a\""), v("\"a\""), contradicts: false, confirms: true),
        Pair(v("\"a\""), v("\"b\""), contradicts: true, confirms: false),
        Pair(v("\"a\""), v("W/\"a\""), contradicts: true, confirms: false),
        Pair(v("W/\"a\""), v("W/\"a\""), contradicts: false, confirms: false),
        Pair(v("W/\"a\""), v("W/\"b\""), contradicts: true, confirms: false),
        Pair(v("W/\"a\"", oldDate), v("W/\"a\"", oldDate), contradicts: false, confirms: true),
        // Two weak validators do not make a strong one (RFC 9110, section 8.8.1).
        Pair(v("W/\"a\"", oldDate, date: nil), v("W/\"a\"", oldDate), contradicts: false, confirms: false),
        Pair(v("W/\"a\"", oldDate, date: oldDate), v("W/\"a\"", oldDate), contradicts: false, confirms: false),
        Pair(
            v("W/\"a\"", oldDate, date: oldDate), v("W/\"a\"", oldDate, date: oldDate), contradicts: false,
            confirms: false),
        Pair(v("W/\"a\"", oldDate), v("W/\"a\"", newDate), contradicts: true, confirms: false),
        Pair(v("\"a\"", oldDate), v("\"a\"", newDate), contradicts: false, confirms: true),
        Pair(v("\"a\"", oldDate), v("\"b\"", oldDate), contradicts: true, confirms: false),
        Pair(v("\"a\"", oldDate), v(nil, oldDate), contradicts: false, confirms: true),
        Pair(v("\"a\"", oldDate), v(nil, newDate), contradicts: true, confirms: false),
        Pair(v(nil, oldDate), v(nil, oldDate), contradicts: false, confirms: true),
        Pair(v(nil, oldDate), v(nil, "Sunday, 06-Nov-94 08:49:37 GMT"), contradicts: false, confirms: true),
        Pair(v(nil, oldDate, date: oldDate), v(nil, oldDate), contradicts: false, confirms: false),
        Pair(v(nil, oldDate, date: nil), v(nil, oldDate), contradicts: false, confirms: false),
        Pair(v("\"a\""), v(nil, oldDate), contradicts: false, confirms: false),
        Pair(v("tag"), v("tag"), contradicts: false, confirms: false),
        Pair(v("tag"), v("other"), contradicts: true, confirms: false),
        Pair(v(nil), v(nil), contradicts: false, confirms: false),
    ]

    @Test(arguments: pairs)
    func `Two pairs of validators contradict or confirm each other as their row says`(pair: Pair) {
        #expect(pair.left.contradicts(pair.right) == pair.contradicts)
        #expect(pair.right.contradicts(pair.left) == pair.contradicts)
        #expect(pair.left.confirms(pair.right) == pair.confirms)
    }

    @Test func `Completed validators keep their original modification date and response date`() {
        let ours = Validators(entityTag: "\"a\"", lastModified: oldDate, date: oldDate)
        let theirs = Validators(entityTag: "\"a\"", lastModified: oldDate, date: serverDate)
        #expect(ours.completed(by: theirs) == ours)
        #expect(Validators(entityTag: "\"a\"", date: oldDate).completed(by: theirs) == theirs)
    }
}
