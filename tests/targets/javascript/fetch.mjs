// What node's own fetch makes of the laboratory.
//
// usage: fetch.mjs get URL   prints `ok BODY`, or the code of the error below
//        fetch.mjs post URL  posts JSON and follows redirects; prints the status and the path it ended at

const [command, url] = process.argv.slice(2);
const deepest = (error) => (error.cause ? deepest(error.cause) : error);

try {
  if (command === 'get') {
    const answer = await fetch(url);
    console.log('ok', await answer.text());
  } else {
    const body = JSON.stringify({ statusUpdate: {} });
    const answer = await fetch(url, { method: 'POST', headers: { 'content-type': 'application/json' }, body });
    console.log(answer.status, new URL(answer.url).pathname);
  }
} catch (error) {
  console.log(error.constructor.name, deepest(error).code ?? deepest(error).message);
}
