import NightshiftAPI
import Transfers

let lenient = ResponsePolicy(retry: .never, failsOnHTTPError: false)
let strict = ResponsePolicy(retry: .transientResponses, failsOnHTTPError: true)

/// The time Sun, 06 Nov 1994 08:49:37 GMT, in seconds since 1970.
let someTime = 784_111_777.0
let oldDate = "Sun, 06 Nov 1994 08:49:37 GMT"
let newDate = "Mon, 07 Nov 1994 08:49:37 GMT"
let serverDate = "Tue, 08 Nov 1994 08:49:37 GMT"

func head(_ status: Int, _ fields: KeyValuePairs<String, String> = [:]) -> ResponseHead {
    ResponseHead(
        status: status, headers: fields.map { HeaderField(name: $0.key, value: $0.value) }, httpVersion: "1.1",
        url: "http://example.org/file", method: "GET")
}

func partial(
    _ count: Int64, of total: Int64? = 100, tag: String? = "\"a\"", modified: String? = oldDate,
    condition: RangeCondition = .entityTag
) -> PartialBytes {
    PartialBytes(
        count: count, total: total,
        validators: Validators(entityTag: tag, lastModified: modified, date: serverDate), condition: condition)
}

/// Returns the verdict on the response to a request for the rest of `partial`, as the engine does.
func judge(_ head: ResponseHead, _ partial: PartialBytes?, _ policy: ResponsePolicy = lenient) -> Verdict {
    Verdict.judge(
        head: head, plan: ExchangePlan(partial: partial), partial: partial, policy: policy, now: someTime + 900_000)
}

extension Verdict {
    /// The reason for discarding bytes, if the verdict discards them.
    var lossReason: String? {
        switch self {
        case .fresh(_, let restart): restart
        case .startAgain(let reason): reason
        default: nil
        }
    }

    var startsAgain: Bool {
        if case .startAgain = self { true } else { false }
    }

    var condition: RangeCondition? {
        if case .askAgain(let condition, _) = self { condition } else { nil }
    }

    var representation: Representation? {
        switch self {
        case .fresh(let representation, _), .append(let representation, _, _): representation
        default: nil
        }
    }
}
