/// The colours and patterns of a timeline.
///
/// The colours are those of Okabe and Ito, which colour-blind people can distinguish. Paused states are also hatched.
/// The most important states (kept awake, maintenance windows, doze) also differ in lightness and position.
enum TimelinePalette {
    static let style = """
        text{font-family:system-ui,-apple-system,"Segoe UI",Roboto,"DejaVu Sans",sans-serif;font-size:12px;fill:#1f2328}
        .page{fill:#ffffff}
        .title{font-size:18px;font-weight:600}
        .subtitle,.tick,.legend,.note{fill:#57606a}
        .tick{font-size:11px;text-anchor:middle}
        .legend{font-size:11px}
        .note{font-size:11px}
        .day{font-size:11px;font-weight:600;text-anchor:middle}
        .last{text-anchor:end}
        .section{font-size:11px;font-weight:600;letter-spacing:.06em;fill:#57606a}
        .label{text-anchor:end}
        .on-bar{font-size:11px;fill:#1f2328}
        .strip{font-size:10px}
        .on-asleep{font-size:11px;fill:#ffffff}
        .grid{stroke:#57606a;stroke-opacity:.18;stroke-width:1;fill:none}
        .base{stroke:#57606a;stroke-opacity:.35;stroke-width:1;fill:none}
        .doze-band{fill:#3b4252;fill-opacity:.09}
        .window-band{fill:#009e73;fill-opacity:.20}
        .held-band{fill:#e69f00;fill-opacity:.13}
        .inUse{fill:#56b4e9}
        .awake{fill:#b9dcf2}
        .held{fill:#e69f00}
        .window{fill:#009e73}
        .dozing{fill:#8b93a1}
        .asleep{fill:#3b4252}
        .external{fill:#009e73;fill-opacity:.75}
        .battery{fill:#f0e442}
        .network{fill:#0072b2;fill-opacity:.32}
        .expensive{fill:#cc79a7;fill-opacity:.8}
        .offline{fill:url(#offline)}
        .active{fill:#0072b2}
        .inactive{fill:#56b4e9}
        .background{fill:#e69f00}
        .standing{fill:url(#standing)}
        .suspended{fill:#57606a;fill-opacity:.30}
        .task{fill:#8a5a00}
        .running{fill:#0072b2}
        .waiting{fill:#57606a;fill-opacity:.38}
        .woken{fill:#009e73}
        .expiring{fill:#d55e00}
        .killed{stroke:#d55e00;stroke-width:2.6;fill:none}
        .fresh-band{fill:#009e73;fill-opacity:.24}
        .use-fresh{fill:#0072b2}
        .use-stale{fill:#d55e00}
        .use-unknown{fill:#57606a}
        .fetch{stroke:#009e73;stroke-width:1.6;fill:#ffffff}
        .newData{fill:#009e73}
        .failed{stroke:#d55e00}
        @media (prefers-color-scheme:dark){
        text{fill:#e6edf3}
        .page{fill:#0d1117}
        .subtitle,.tick,.legend,.note,.section{fill:#9da7b3}
        .grid,.base{stroke:#9da7b3}
        .on-bar{fill:#1f2328}
        .on-network{fill:#e6edf3}
        .doze-band{fill:#aab4c4;fill-opacity:.10}
        .asleep{fill:#5b6577}
        .suspended,.waiting{fill:#9da7b3}
        .task{fill:#ffd27a}
        .noData,.failed{fill:#0d1117}
        .use-unknown{fill:#9da7b3}
        }
        """

    static let definitions = """
        <pattern id="standing" width="6" height="6" patternUnits="userSpaceOnUse" patternTransform="rotate(45)">\
        <rect width="6" height="6" fill="#e69f00" fill-opacity=".16"/><rect width="2" height="6" fill="#e69f00" \
        fill-opacity=".75"/></pattern>
        <pattern id="offline" width="4" height="4" patternUnits="userSpaceOnUse" patternTransform="rotate(45)">\
        <rect width="4" height="4" fill="#57606a" fill-opacity=".10"/><rect width="1.5" height="4" fill="#57606a" \
        fill-opacity=".5"/></pattern>
        """
}
