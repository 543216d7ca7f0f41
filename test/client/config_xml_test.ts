import { assertEquals, assertThrows } from "@std/assert";
import { ConfigXmlError, readConfigXml } from "../../lib/client/config_xml.ts";

const whole = `<?xml version="1.0" encoding="UTF-8"?>
<!-- the gateway's own settings -->
<hs_gateway>
  <mobile>13800000000</mobile>
  <countryCode>CHN</countryCode>
  <listenIp>127.0.0.1</listenIp>
  <listenHttpPort>21111</listenHttpPort>
  <listenTcpPort>21112</listenTcpPort>
  <logPath>C:\\logs &amp; more</logPath>
  <privateKeyPath><![CDATA[/keys/<dev>.pem]]></privateKeyPath>
</hs_gateway>
`;

Deno.test("readConfigXml() reads every setting and does not return the phone number", () => {
  const config = readConfigXml(whole);
  assertEquals(config, {
    hasMobile: true,
    countryCode: "CHN",
    listenIp: "127.0.0.1",
    listenHttpPort: 21111,
    listenTcpPort: 21112,
    logPath: "C:\\logs & more",
    privateKeyPath: "/keys/<dev>.pem",
    problems: [],
    unusable: [],
  });
});

Deno.test("readConfigXml() uses the API document's defaults for missing or empty settings", () => {
  const { listenIp, listenHttpPort, listenTcpPort, hasMobile, problems } = readConfigXml(
    "\ufeff<hs_gateway>\r\n<mobile></mobile><listenIp/><countryCode>+852</countryCode></hs_gateway>",
  );
  assertEquals({ listenIp, listenHttpPort, listenTcpPort, hasMobile }, {
    listenIp: "127.0.0.1",
    listenHttpPort: 11111,
    listenTcpPort: 11112,
    hasMobile: false,
  });
  assertEquals(problems, [
    "mobile is missing: the gateway logs in with this phone number",
    "privateKeyPath is missing: without the developer's key the gateway cannot sign",
  ]);
});

const doubtful: [string, string, string][] = [
  [
    "a number that is not a port",
    whole.replace("21111", "99999"),
    'listenHttpPort is "99999", which is not a port; hsgate uses the default 11111',
  ],
  [
    "one port for both",
    whole.replace("21112", "21111"),
    "listenHttpPort and listenTcpPort are both 21111: they must differ",
  ],
  [
    "an address that others can reach",
    whole.replace("127.0.0.1", "0.0.0.0"),
    'listenIp is "0.0.0.0": the gateway requires no password, so anyone who can reach this address can trade',
  ],
  [
    "a misspelt name",
    whole.replaceAll("listenTcpPort", "listenTCPort"),
    "<listenTCPort> is not a setting; did you mean <listenTcpPort>?",
  ],
  [
    "a country in words",
    whole.replace("CHN", "China"),
    'countryCode is "China": write it like CHN, HKG, +86 or +852',
  ],
  [
    "a name that is given twice",
    whole.replace("</hs_gateway>", "<logPath>x</logPath></hs_gateway>"),
    "<logPath> is given twice; hsgate uses the first one",
  ],
];
for (const [what, text, problem] of doubtful) {
  Deno.test(`readConfigXml() reports ${what}`, () => assertEquals(readConfigXml(text).problems, [problem]));
}

const broken: [string, string, string][] = [
  ["another root", "<config></config>", "its root is <config>, not <hs_gateway>"],
  [
    "an element that is not closed",
    "<hs_gateway><mobile>1</hs_gateway>",
    "it is not XML at line 1, column 22",
  ],
  ["a file that ends early", "<hs_gateway><mobile>1</mobile>", "it is not XML at line 1, column 31"],
  [
    "a tag that ends early",
    "<hs_gateway><mobile>1</mobile></hs_gateway",
    "it is not XML at line 1, column 43",
  ],
  ["a text that is not XML", "mobile=1", "it is not XML at line 1, column 1"],
  ["an empty file", "", "it is not XML at line 1, column 1"],
  ["two roots", "<hs_gateway/><hs_gateway/>", "it is not XML at line 1, column 14"],
  [
    "an entity that the file itself declares",
    '<!DOCTYPE hs_gateway [<!ENTITY x "y">]>\n<hs_gateway><logPath>&x;</logPath></hs_gateway>',
    "it is not XML at line 2, column 22",
  ],
  [
    "elements within elements without end",
    `<hs_gateway>${"<a>".repeat(200_000)}`,
    "its elements are nested too deeply",
  ],
];
for (const [what, text, reason] of broken) {
  Deno.test(`readConfigXml() rejects ${what}`, () => {
    const error = assertThrows(() => readConfigXml(text), ConfigXmlError);
    assertEquals(error.message, `Cannot read the gateway's config.xml: ${reason}`);
  });
}

Deno.test("readConfigXml() shows the phone number neither in its errors nor in its result", () => {
  for (const [part, damaged] of [["</mobile>", "</mobil>"], ["13800000000", "&13800000000;"]] as const) {
    const error = assertThrows(() => readConfigXml(whole.replace(part, damaged)), ConfigXmlError);
    assertEquals(Deno.inspect(error).includes("13800000000"), false);
  }
  assertEquals(JSON.stringify(readConfigXml(whole)).includes("13800000000"), false);
});
